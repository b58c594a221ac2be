//! What of a cluster's settings decides where keys go.

use super::host::{Hosts, Naming};
use super::{fields, refused, unknown};
use crate::import::imported::Imported;
use crate::import::problem::{ImportError, ImportProblem};
use crate::import::yaml::{Field, Tree, Value};

/// The settings of a cluster.
#[derive(Default)]
pub(super) struct Settings<'t> {
    ring: Ring,
    /// Whether the policy is the ring hash, and the line that says so.
    policy: Option<(bool, usize)>,
    hosts: Naming,
    /// Where `common_lb_config` asks for host names.
    by_hostname: Option<usize>,
    /// In percent.
    panic_threshold: Option<u32>,
    assignment: Option<Field<'t>>,
}

#[derive(Default)]
struct Ring {
    minimum: Option<u32>,
    maximum: Option<u32>,
    murmur: bool,
    line: usize,
}

/// The largest ring that Envoy makes, and its default.
const MAX_RING: u32 = 8 << 20;
const DEFAULT_MINIMUM: u32 = 1024;

/// How hosts are reached, checked and counted: no matter here.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "name", "alt_stat_name", "observability_name", "connect_timeout", "per_connection_buffer_limit_bytes",
    "per_connection_buffer_high_watermark_timeout", "health_checks", "max_requests_per_connection", "circuit_breakers",
    "upstream_http_protocol_options", "common_http_protocol_options", "http_protocol_options", "http2_protocol_options",
    "typed_extension_protocol_options", "dns_refresh_rate", "dns_jitter", "dns_failure_refresh_rate", "respect_dns_ttl",
    "dns_lookup_family", "dns_resolvers", "use_tcp_for_dns_lookups", "dns_resolution_config", "typed_dns_resolver_config",
    "wait_for_warm_on_init", "outlier_detection", "cleanup_interval", "upstream_bind_config", "transport_socket",
    "transport_socket_matches", "transport_socket_matcher", "metadata", "protocol_selection",
    "upstream_connection_options", "close_connections_on_host_health_failure", "ignore_health_on_host_removal", "filters",
    "lrs_server", "lrs_report_endpoint_metrics", "track_timeout_budgets", "upstream_config", "track_cluster_stats",
    "preconnect_policy", "connection_pool_per_downstream_connection", "@type",
    // Of policies that the cluster may name and doesn't use.
    "maglev_lb_config", "original_dst_lb_config", "least_request_lb_config", "round_robin_lb_config",
];

impl<'t> Settings<'t> {
    pub(super) fn read(tree: &'t Tree, cluster: Value) -> Result<Self, ImportError> {
        let mut settings = Self::default();
        for (name, field) in fields(tree, cluster, "the cluster")? {
            let Field { line, value, .. } = field;
            match name.as_str() {
                "type" => match tree.text(value, "type")? {
                    "STATIC" | "0" => {}
                    // Sound if all addresses are IP addresses, which is checked where they stand.
                    "STRICT_DNS" | "1" => settings.hosts.dns = true,
                    "LOGICAL_DNS" | "2" => {
                        let why = "the endpoints come from DNS at run time; give those of a STATIC cluster";
                        return Err(refused("type", why, &field));
                    }
                    "EDS" | "3" | "ORIGINAL_DST" | "4" => {
                        let why = "the endpoints are found at run time; give those of a STATIC cluster";
                        return Err(refused("type", why, &field));
                    }
                    other => {
                        let wanted = "STATIC, STRICT_DNS, LOGICAL_DNS, EDS or ORIGINAL_DST";
                        return Err(ImportProblem::value("type", other, wanted).at(line));
                    }
                },
                "cluster_type" | "eds_cluster_config" => {
                    return Err(refused(&name, "the endpoints are found at run time", &field));
                }
                "lb_subset_config" => return Err(refused(&name, "each subset has a ring of its own", &field)),
                // The newer field wins over the older, so it has the last word below.
                "lb_policy" if settings.policy.is_none() => {
                    settings.policy = Some((matches!(tree.text(value, "lb_policy")?, "RING_HASH" | "2"), line));
                }
                "lb_policy" => {}
                "ring_hash_lb_config" if settings.ring.line == 0 => settings.ring(tree, &field)?,
                "ring_hash_lb_config" => {
                    let what = "a ring's configuration".to_owned();
                    return Err(ImportProblem::Repeated { what, first: settings.ring.line }.at(line));
                }
                "common_lb_config" => settings.common(tree, value)?,
                "load_assignment" => settings.assignment = Some(field),
                "load_balancing_policy" => settings.extension(tree, &field)?,
                known if OTHERS.contains(&known) => {}
                _ => return Err(unknown("the cluster", &field)),
            }
        }
        Ok(settings)
    }

    /// `RingHashLbConfig`, and `RingHash` of the extension, which has the same and more.
    fn ring(&mut self, tree: &Tree, config: &Field<'_>) -> Result<(), ImportError> {
        self.ring.line = config.line;
        for (name, field) in fields(tree, config.value, "the ring's configuration")? {
            let value = field.value;
            match name.as_str() {
                "minimum_ring_size" => self.ring.minimum = Some(tree.number(value, &name, 0, MAX_RING)?),
                "maximum_ring_size" => self.ring.maximum = Some(tree.number(value, &name, 0, MAX_RING)?),
                "hash_function" => {
                    self.ring.murmur = match tree.text(value, &name)? {
                        "XX_HASH" | "DEFAULT_HASH" | "0" => false,
                        "MURMUR_HASH_2" => true,
                        other => {
                            let wanted = "XX_HASH or MURMUR_HASH_2";
                            return Err(ImportProblem::value(name, other, wanted).at(field.line));
                        }
                    };
                }
                "use_hostname_for_hashing" => self.hosts.by_hostname |= tree.boolean(value, &name)?,
                "consistent_hashing_lb_config" => self.consistent(tree, value)?,
                "hash_balance_factor" => Self::factor(tree, &field)?,
                "locality_weighted_lb_config" => return Err(Self::by_locality(&field)),
                "@type" | "hash_policy" => {}
                _ => return Err(unknown("the ring's configuration", &field)),
            }
        }
        Ok(())
    }

    fn common(&mut self, tree: &Tree, config: Value) -> Result<(), ImportError> {
        for (name, field) in fields(tree, config, "common_lb_config")? {
            match name.as_str() {
                "consistent_hashing_lb_config" => {
                    let before = self.hosts.by_hostname;
                    self.consistent(tree, field.value)?;
                    self.by_hostname = (self.hosts.by_hostname && !before).then_some(field.line);
                }
                "locality_weighted_lb_config" => return Err(Self::by_locality(&field)),
                "healthy_panic_threshold" => {
                    for (name, field) in fields(tree, field.value, &name)? {
                        match name.as_str() {
                            "value" => {
                                let of = "healthy_panic_threshold";
                                // A float by its type; whole in practice.
                                let whole = tree.scalar(field.value).and_then(|(text, _)| text.strip_suffix(".0"));
                                self.panic_threshold = Some(match whole {
                                    Some(whole) => crate::import::imported::number(of, whole, 0, 100, field.line)?,
                                    None => tree.number(field.value, of, 0, 100)?,
                                });
                            }
                            _ => return Err(unknown("healthy_panic_threshold", &field)),
                        }
                    }
                }
                "zone_aware_lb_config"
                | "update_merge_window"
                | "ignore_new_hosts_until_first_hc"
                | "close_connections_on_host_set_change"
                | "override_host_status" => {}
                _ => return Err(unknown("common_lb_config", &field)),
            }
        }
        Ok(())
    }

    fn consistent(&mut self, tree: &Tree, config: Value) -> Result<(), ImportError> {
        for (name, field) in fields(tree, config, "consistent_hashing_lb_config")? {
            match name.as_str() {
                "use_hostname_for_hashing" => self.hosts.by_hostname |= tree.boolean(field.value, &name)?,
                "hash_balance_factor" => Self::factor(tree, &field)?,
                // What is the key.
                "hash_policy" => {}
                _ => return Err(unknown("consistent_hashing_lb_config", &field)),
            }
        }
        Ok(())
    }

    fn factor(tree: &Tree, field: &Field<'_>) -> Result<(), ImportError> {
        match tree.number(field.value, "hash_balance_factor", 0, u32::MAX)? {
            0 => Ok(()),
            factor => {
                let why = "which endpoint is too busy is known at run time alone; take it out to place without it";
                Err(refused(&format!("hash_balance_factor {factor}"), why, field))
            }
        }
    }

    fn by_locality(field: &Field<'_>) -> ImportError {
        refused("locality_weighted_lb_config", "weights then depend on how many endpoints of a locality live", field)
    }

    /// `load_balancing_policy`, which names policies in order of preference; Envoy takes the first that it knows.
    fn extension(&mut self, tree: &Tree, policy: &Field<'_>) -> Result<(), ImportError> {
        let of = "load_balancing_policy";
        for (name, field) in fields(tree, policy.value, of)? {
            if name != "policies" {
                return Err(unknown(of, &field));
            }
            let [first, ..] = tree.items(field.value, "policies")? else {
                return Err(ImportProblem::Missing("there is no policy in it".to_owned()).at(field.line));
            };
            for (name, field) in fields(tree, *first, of)? {
                if name != "typed_extension_config" {
                    return Err(unknown(of, &field));
                }
                for (name, field) in fields(tree, field.value, &name)? {
                    match name.as_str() {
                        "name" => {}
                        "typed_config" => {
                            let parts = fields(tree, field.value, "typed_config")?;
                            let kind = parts.iter().find(|(name, _)| name == "@type");
                            let kind = kind.map_or(Ok(""), |(_, field)| tree.text(field.value, "@type"))?;
                            let message = kind.rsplit('/').next().expect("rsplit gives one part at least");
                            const RING: &str = "envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash";
                            if message == RING {
                                self.ring = Ring::default();
                                self.ring(tree, &field)?;
                            }
                            self.policy = Some((message == RING, field.line));
                        }
                        _ => return Err(unknown("typed_extension_config", &field)),
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn import(self, tree: &'t Tree, cluster: Value) -> Result<Imported, ImportError> {
        match self.policy {
            Some((true, _)) => {}
            Some((false, line)) => {
                let why = "only RING_HASH places keys on a ring that ringway knows";
                return Err(ImportProblem::not_reproducible("this load balancing policy", why).at(line));
            }
            None => {
                let reason = "the cluster has no \"lb_policy\": it takes its endpoints in turn, and isn't a ring";
                return Err(ImportProblem::Missing(reason.to_owned()).at(tree.line(cluster)));
            }
        }
        // `ClusterFactoryImplBase::create`; of the policy's own extension Envoy doesn't ask it.
        if let Some(line) = self.by_hostname.filter(|_| !self.hosts.dns) {
            let wanted = "for this cluster; Envoy takes it for STRICT_DNS alone";
            return Err(ImportProblem::value("use_hostname_for_hashing", "true", wanted).at(line));
        }
        let (minimum, maximum) = (self.ring.minimum.unwrap_or(DEFAULT_MINIMUM), self.ring.maximum.unwrap_or(MAX_RING));
        if minimum > maximum {
            let wanted = format!("at most maximum_ring_size, {maximum}");
            return Err(ImportProblem::value("minimum_ring_size", &minimum.to_string(), wanted).at(self.ring.line));
        }
        let Some(assignment) = self.assignment else {
            let reason = "the cluster has no \"load_assignment\"".to_owned();
            return Err(ImportProblem::Missing(reason).at(tree.line(cluster)));
        };
        let mut imported = Imported::new("envoy-ring-hash");
        imported.set("minimum_ring_size", minimum);
        imported.set("maximum_ring_size", maximum);
        imported.set("hash_function", if self.ring.murmur { "MURMUR_HASH_2" } else { "XX_HASH" });
        imported.set("use_hostname_for_hashing", self.hosts.by_hostname);
        let mut hosts = Hosts::read(tree, &assignment, self.hosts)?;
        imported.notes.append(&mut hosts.notes);
        imported.nodes = hosts.into_nodes(self.panic_threshold.unwrap_or(50), assignment.line)?;
        Ok(imported)
    }
}

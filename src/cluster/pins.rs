//! The pins of a cluster file.

use std::collections::HashSet;

use super::error::{ClusterError, ClusterProblem};
use super::schema::Checker;
use super::value::{Found, Value};
use crate::error::{PinError, cut};
use crate::node::NodeSpec;
use crate::pins::Pins;

const PIN: &[&str; 5] = &["key", "key_hex", "prefix", "prefix_hex", "node"];

impl Checker<'_> {
    /// Reads the list of pins, whose nodes must be in the file.
    pub(super) fn pins(&self, found: Option<Found<'_>>, nodes: &[NodeSpec]) -> Result<Pins, ClusterError> {
        let Some(found) = found else { return Ok(Pins::new()) };
        let (at, list) = match found {
            Found { at, value: Value::List(list) } => (at, list),
            found => return Err(self.wrong_type(&found, "pin", "a list of tables, as [[pin]] makes in TOML")),
        };
        let refused = |at, error: PinError| self.error(at, ClusterProblem::Pin(error)).with_field("pin");
        let (pins, limit) = (list.len(), Pins::MAX_PINS);
        if pins > limit {
            return Err(refused(at, PinError::TooMany { pins, limit }));
        }
        let ids: HashSet<&str> = nodes.iter().map(NodeSpec::id).collect();
        list.into_iter().try_fold(Pins::new(), |pins, found| {
            let pin_at = found.at;
            let [key, key_hex, prefix, prefix_hex, node] = self.fields(found, "pin", PIN)?;
            let missing = |name| self.error(pin_at, ClusterProblem::MissingField { name }).with_field("pin");
            let (node, node_at) = self.text(node.ok_or_else(|| missing("node"))?, "pin.node")?;
            if !ids.contains(&*node) {
                let problem = ClusterProblem::PinnedToNobody { id: cut(&node) };
                return Err(self.error(node_at, problem).with_field("pin.node"));
            }
            let given =
                [(key, "pin.key"), (key_hex, "pin.key_hex"), (prefix, "pin.prefix"), (prefix_hex, "pin.prefix_hex")];
            let mut given = given.into_iter().filter_map(|(found, field)| Some((found?, field)));
            let (Some((found, field)), None) = (given.next(), given.next()) else {
                return Err(self.error(pin_at, ClusterProblem::PinOfNothing).with_field("pin"));
            };
            let (text, at) = self.text(found, field)?;
            let bytes = if field.ends_with("_hex") {
                from_hex(&text)
                    .ok_or_else(|| self.error(at, ClusterProblem::NotHex { text: cut(&text) }).with_field(field))?
            } else {
                text.into_bytes()
            };
            let pinned =
                if field.starts_with("pin.key") { pins.with_key(bytes, &node) } else { pins.with_prefix(bytes, &node) };
            pinned.map_err(|error| refused(at, error))
        })
    }
}

/// Bytes from pairs of digits.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

/// Pairs of digits for bytes.
pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! Serde for what goes to and from a control plane: nodes, batches, pins (feature `serde`). Rank 4.
//!
//! Names of fields are those of cluster files. What is read is checked as what is built by hand: a description that no ring
//! would take, or a batch that contradicts itself, is an error of the format it came in. Limits of a ring are held when a batch
//! is committed, as always.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::delta::{Change, Delta};
use crate::hash::Fingerprint;
use crate::node::{Limits, NodeId, NodeSpec, State};
use crate::pins::Pins;
use crate::point::Share;

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The exact number of places as a text, since most readers of JSON round numbers above 2^53.
impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<T: Serialize> Serialize for NodeSpec<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let info = self.info();
        let mut fields = serializer.serialize_struct("NodeSpec", 8)?;
        fields.serialize_field("id", info.id())?;
        fields.serialize_field("weight", &info.weight())?;
        fields.serialize_field("active_points", &info.active_points())?;
        fields.serialize_field("address", &info.address())?;
        fields.serialize_field("zone", info.zone())?;
        fields.serialize_field("attributes", &info.attributes)?;
        fields.serialize_field("state", &info.state())?;
        fields.serialize_field("payload", self.payload())?;
        fields.end()
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename = "NodeSpec")]
struct Description<T> {
    id: String,
    #[serde(default = "one")]
    weight: u32,
    #[serde(default)]
    active_points: Option<u32>,
    #[serde(default)]
    address: Option<String>,
    #[serde(default)]
    zone: Vec<String>,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
    #[serde(default)]
    state: State,
    payload: T,
}

fn one() -> u32 {
    1
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NodeSpec<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Description::<T>::deserialize(deserializer)?;
        let mut spec = NodeSpec::new(read.id).with_weight(read.weight).with_active_points(read.active_points);
        spec.info.address = read.address;
        spec.info.zone = read.zone;
        spec.info.attributes = read.attributes;
        // A weight is held against the limit of the ring that it comes to.
        spec.info.check(&Limits::DEFAULT.with_weight(u32::MAX)).map_err(D::Error::custom)?;
        Ok(spec.with_state(read.state).with_payload(read.payload))
    }
}

/// A key or prefix: a text where the format is for people and it is one, else its bytes.
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = &self.0[..];
        match str::from_utf8(bytes) {
            Ok(text) if serializer.is_human_readable() => serializer.serialize_str(text),
            _ if serializer.is_human_readable() => serializer.collect_seq(bytes),
            _ => serializer.serialize_bytes(bytes),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyBytes;
        impl<'de> Visitor<'de> for AnyBytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or bytes")
            }
            fn visit_str<E>(self, text: &str) -> Result<Vec<u8>, E> {
                Ok(text.as_bytes().to_vec())
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<u8>, A::Error> {
                // What the list says of its length isn't believed.
                let mut bytes = Vec::new();
                while let Some(byte) = list.next_element()? {
                    bytes.push(byte);
                }
                Ok(bytes)
            }
        }
        let read = if deserializer.is_human_readable() {
            deserializer.deserialize_any(AnyBytes)
        } else {
            deserializer.deserialize_bytes(AnyBytes)
        };
        read.map(Bytes)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    /// The key or prefix.
    #[serde(rename = "match")]
    bytes: Bytes,
    node: String,
}

/// Pins as two lists; a map's keys are texts in most formats, and these are bytes.
impl Serialize for Pins {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn list<'p>(pins: impl Iterator<Item = (&'p [u8], &'p NodeId)>) -> Vec<Pin> {
            pins.map(|(bytes, node)| Pin { bytes: Bytes(bytes.to_vec()), node: node.to_string() }).collect()
        }
        let mut fields = serializer.serialize_struct("Pins", 2)?;
        fields.serialize_field("keys", &list(self.keys()))?;
        fields.serialize_field("prefixes", &list(self.prefixes()))?;
        fields.end()
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename = "Pins")]
struct PinLists {
    #[serde(default)]
    keys: Vec<Pin>,
    #[serde(default)]
    prefixes: Vec<Pin>,
}

impl<'de> Deserialize<'de> for Pins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PinLists { keys, prefixes } = PinLists::deserialize(deserializer)?;
        let pins = keys.into_iter().try_fold(Self::new(), |pins, pin| pins.with_key(pin.bytes.0, &pin.node));
        let all =
            |pins| prefixes.into_iter().try_fold(pins, |pins: Self, pin| pins.with_prefix(pin.bytes.0, &pin.node));
        pins.and_then(all).map_err(D::Error::custom)
    }
}

impl<T: Serialize> Serialize for Delta<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Delta", 3)?;
        fields.serialize_field("changes", self.changes())?;
        fields.serialize_field("order", &self.order())?;
        fields.serialize_field("pins", &self.pins())?;
        fields.end()
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename = "Delta", bound = "T: Deserialize<'de>")]
struct Batch<T> {
    #[serde(default)]
    changes: Vec<Change<T>>,
    #[serde(default)]
    order: Option<Vec<String>>,
    #[serde(default)]
    pins: Option<Pins>,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Delta<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Batch { changes, order, pins } = Batch::deserialize(deserializer)?;
        let mut delta = Self::new();
        delta.extend(changes);
        if let Some(order) = order {
            delta = delta.with_order(order);
        }
        if let Some(pins) = pins {
            delta = delta.with_pins(pins);
        }
        delta.check().map_err(D::Error::custom)?;
        Ok(delta)
    }
}

//! One entry of a trace: whatever its fields hold, the ones that are known are taken and the others passed over.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value that may be anything.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Loose {
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(String),
    Flag(bool),
    /// Nothing, or what has parts.
    #[default]
    Other,
}

/// One entry. What is missing is empty.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) phase: Loose,
    pub(super) pid: Loose,
    pub(super) tid: Loose,
    /// Microseconds.
    pub(super) ts: Loose,
    /// Microseconds.
    pub(super) dur: Loose,
    pub(super) name: Loose,
    pub(super) id: Loose,
    pub(super) args: Args,
}

/// What an entry says beside.
#[derive(Debug, Default)]
pub(super) struct Args(pub(super) Vec<(String, Loose)>);

impl Loose {
    /// A number, also one that is written as text.
    pub(super) fn number(&self) -> Option<f64> {
        let number = match self {
            Self::Int(v) => *v as f64,
            Self::Uint(v) => *v as f64,
            Self::Float(v) => *v,
            Self::Text(text) => text.trim().parse().ok()?,
            Self::Flag(_) | Self::Other => return None,
        };
        number.is_finite().then_some(number)
    }

    /// Bytes of its text.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Int(_) | Self::Uint(_) | Self::Float(_) | Self::Flag(_) | Self::Other => 0,
        }
    }

    /// The words; of a number those that it is written in.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Int(v) => v.to_string(),
            Self::Uint(v) => v.to_string(),
            Self::Float(v) => v.to_string(),
            Self::Text(text) => text.clone(),
            Self::Flag(v) => v.to_string(),
            Self::Other => String::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Loose;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_i64<E>(self, v: i64) -> Result<Loose, E> {
                Ok(Loose::Int(v))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Loose, E> {
                Ok(i64::try_from(v).map_or(Loose::Uint(v), Loose::Int))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Loose, E> {
                Ok(Loose::Float(v))
            }
            fn visit_bool<E>(self, v: bool) -> Result<Loose, E> {
                Ok(Loose::Flag(v))
            }
            fn visit_str<E>(self, v: &str) -> Result<Loose, E> {
                Ok(Loose::Text(v.to_owned()))
            }
            fn visit_string<E>(self, v: String) -> Result<Loose, E> {
                Ok(Loose::Text(v))
            }
            fn visit_unit<E>(self) -> Result<Loose, E> {
                Ok(Loose::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Loose::Other)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Loose, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Loose::Other)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Arguments that one entry may have: more are passed over.
const MOST_ARGS: usize = 256;

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Args;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Args, A::Error> {
                let mut args = Args::default();
                while let Some((key, value)) = map.next_entry::<String, Loose>()? {
                    if args.0.len() < MOST_ARGS && value != Loose::Other {
                        args.0.push((key, value));
                    }
                }
                Ok(args)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Args, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Args::default())
            }
            fn visit_i64<E>(self, _: i64) -> Result<Args, E> {
                Ok(Args::default())
            }
            fn visit_u64<E>(self, _: u64) -> Result<Args, E> {
                Ok(Args::default())
            }
            fn visit_f64<E>(self, _: f64) -> Result<Args, E> {
                Ok(Args::default())
            }
            fn visit_bool<E>(self, _: bool) -> Result<Args, E> {
                Ok(Args::default())
            }
            fn visit_str<E>(self, _: &str) -> Result<Args, E> {
                Ok(Args::default())
            }
            fn visit_unit<E>(self) -> Result<Args, E> {
                Ok(Args::default())
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a trace event, which is an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
                let mut entry = Entry::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "ph" => entry.phase = map.next_value()?,
                        "pid" => entry.pid = map.next_value()?,
                        "tid" => entry.tid = map.next_value()?,
                        "ts" => entry.ts = map.next_value()?,
                        "dur" => entry.dur = map.next_value()?,
                        "name" => entry.name = map.next_value()?,
                        "id" => entry.id = map.next_value()?,
                        "args" => entry.args = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(entry)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

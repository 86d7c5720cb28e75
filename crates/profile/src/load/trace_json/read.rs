//! The walk over the JSON: entries go to the builder one at a time, and nothing is kept of the rest.

use std::cell::Cell;
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::build::Builder;
use super::entry::Entry;

/// Reads a trace: an object with `traceEvents`, or the list alone.
///
/// # Errors
/// What is wrong with the JSON and where. What stands before it is in the builder.
///
/// `since_entry` is set to 0 as often as an entry is over, and to nothing while all that is read is passed over.
pub(super) fn read(
    json: impl Read,
    builder: &mut Builder,
    since_entry: &Cell<Option<u64>>,
) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_reader(json);
    deserializer.deserialize_any(Trace(builder, since_entry))
}

struct Trace<'b>(&'b mut Builder, &'b Cell<Option<u64>>);

impl<'de> Visitor<'de> for Trace<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("trace event JSON: an object with traceEvents, or a list of events")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "traceEvents" {
                map.next_value_seed(Entries(self.0, self.1))?;
            } else {
                // Nothing is kept of it, however long it is.
                self.1.set(None);
                map.next_value::<IgnoredAny>()?;
            }
            self.1.set(Some(0));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        Entries(self.0, self.1).visit_seq(seq)
    }
}

struct Entries<'b>(&'b mut Builder, &'b Cell<Option<u64>>);

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of trace events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(entry) = seq.next_element::<Entry>()? {
            self.0.add(entry);
            self.1.set(Some(0));
            if self.0.refusal().is_some() {
                return Err(serde::de::Error::custom("too large"));
            }
        }
        Ok(())
    }
}

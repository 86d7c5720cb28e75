//! How protobuf messages look in JSON, for use with `#[serde(...)]`: 64-bit integers are strings, fields that have their
//! default value are left out.

use serde::{Serialize, Serializer};

/// A 64-bit integer as protobuf's JSON has it: a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Int64(pub i64);

impl Serialize for Int64 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

/// An unsigned 64-bit integer as protobuf's JSON has it: a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uint64(pub u64);

impl Serialize for Uint64 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

/// True for the value that a field has where nobody set it; for `skip_serializing_if`.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A double as protobuf's JSON has it: a whole number without a point, and words for what is no number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Double(pub f64);

impl Serialize for Double {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        /// Below this, doubles tell whole numbers apart.
        const EXACT: f64 = (1_u64 << 53) as f64;
        match self.0 {
            v if v.is_nan() => to.serialize_str("NaN"),
            v if v.is_infinite() => to.serialize_str(if v > 0.0 { "Infinity" } else { "-Infinity" }),
            v if v == v.trunc() && v.abs() < EXACT => to.serialize_i64(v as i64),
            v => to.serialize_f64(v),
        }
    }
}

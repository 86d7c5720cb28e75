//! TensorFlow's element types, by the numbers of its `DataType`.

/// Names of `DataType`, by number.
const NAMES: &[&str] = &[
    "INVALID",
    "float",
    "double",
    "int32",
    "uint8",
    "int16",
    "int8",
    "string",
    "complex64",
    "int64",
    "bool",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
    "qint16",
    "quint16",
    "uint16",
    "complex128",
    "half",
    "resource",
    "variant",
    "uint32",
    "uint64",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
    "float8_e5m2fnuz",
    "int4",
    "uint4",
];

/// Numbers above this are references to the type below it.
const REFERENCE: i64 = 100;

/// The name of an element type; a reference to one ends in `_ref`.
#[must_use]
pub fn name(number: i64) -> String {
    let plain = |number: i64| {
        let known = usize::try_from(number).ok().and_then(|number| NAMES.get(number));
        known.map_or_else(|| format!("unknown dtype enum ({number})"), |name| (*name).to_owned())
    };
    if number > REFERENCE { format!("{}_ref", plain(number - REFERENCE)) } else { plain(number) }
}

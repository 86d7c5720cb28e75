//! The few facts that are taken from a backend's configuration, which on all backends that matter is JSON.
//!
//! A configuration can be hundreds of kilobytes of kernel code around three numbers, and no number that is wanted is nested
//! deeper than its own object, so it is searched rather than parsed. What is not found is `None`.

/// The text of the innermost object under a key, without its braces.
fn object<'a>(config: &'a [u8], key: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(config).ok()?;
    let (_, rest) = text.split_once(&format!("\"{key}\":"))?;
    let rest = rest.trim_start().strip_prefix('{')?;
    rest.split_once('}').map(|(object, _)| object)
}

/// A number of an object, written plain or, as protobuf writes 64-bit integers, in quotes.
fn number(object: &str, key: &str) -> Option<u64> {
    let (_, rest) = object.split_once(&format!("\"{key}\":"))?;
    let (value, _) = rest.split_once(',').unwrap_or((rest, ""));
    value.trim().trim_matches('"').parse().ok()
}

/// How often a `while` runs.
pub(crate) fn known_trip_count(config: &[u8]) -> Option<u64> {
    number(object(config, "known_trip_count")?, "n")
}

/// What the author of a kernel says it costs: FLOPs, transcendentals and bytes accessed.
pub(crate) fn cost_estimate(config: &[u8]) -> Option<[Option<u64>; 3]> {
    let estimate = object(config, "cost_estimate")?;
    Some(["flops", "transcendentals", "bytes_accessed"].map(|key| number(estimate, key)))
}

/// The dimensions of the left operand that a library's matrix product sums over.
pub(crate) fn lhs_contracting_dimensions(config: &[u8]) -> Option<Vec<i64>> {
    numbers(config, "lhs_contracting_dimensions")
}

/// The dimensions of the left operand that count independent products.
pub(crate) fn lhs_batch_dimensions(config: &[u8]) -> Option<Vec<i64>> {
    numbers(config, "lhs_batch_dimensions")
}

/// The precision that each operand of a library's matrix product is asked for, such as `HIGHEST`.
pub(crate) fn operand_precision(config: &[u8]) -> Option<Vec<&str>> {
    Some(list(config, "operand_precision")?.split(',').map(|word| word.trim().trim_matches('"')).collect())
}

fn numbers(config: &[u8], key: &str) -> Option<Vec<i64>> {
    list(config, key)?.split(',').map(|number| number.trim().trim_matches('"').parse().ok()).collect()
}

/// The text of the list under a key, without its brackets.
fn list<'a>(config: &'a [u8], key: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(config).ok()?;
    let (_, rest) = text.split_once(&format!("\"{key}\":"))?;
    let (list, _) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_numbers_quoted_or_not() {
        assert_eq!(known_trip_count(br#"{"known_trip_count":{"n":"12"},"x":{}}"#), Some(12));
        assert_eq!(known_trip_count(br#"{"known_trip_count": {"n": 7}}"#), Some(7));
        assert_eq!(known_trip_count(br#"{"known_trip_count":{"n":"many"}}"#), None);
        assert_eq!(known_trip_count(br#"{"known_trip_count":"#), None);
        assert_eq!(known_trip_count(b"\xff"), None);
        let estimate = br#"{"custom_call_config":{"cost_estimate":{"flops":"5","bytes_accessed":"9"}}}"#;
        assert_eq!(cost_estimate(estimate), Some([Some(5), None, Some(9)]));
        assert_eq!(cost_estimate(b"{}"), None);
        let product = br#"{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1", 2]}}"#;
        assert_eq!(lhs_contracting_dimensions(product), Some(vec![1, 2]));
        assert_eq!(lhs_contracting_dimensions(br#"{"lhs_contracting_dimensions":[]}"#), None);
    }
}

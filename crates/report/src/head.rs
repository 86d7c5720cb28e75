//! The beginning of a text.

/// At most the first bytes of a text, whole characters.
#[must_use]
pub fn head(text: &str, bytes: usize) -> &str {
    let ends = (0..=bytes.min(text.len())).rev();
    ends.into_iter().find_map(|end| text.get(..end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::head;

    #[test]
    fn characters_stay_whole() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(head("aé", 3), "aé");
        assert_eq!(head("aé", 9), "aé");
        assert_eq!(head("\u{1f600}", 3), "");
        assert_eq!(head("", 1), "");
    }
}

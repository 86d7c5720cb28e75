//! Shapes as messages write them: `f32[2048,8192]{1,0:T(8,128)}`.

use haloscope_hlo::ElementType;

/// The element type and extents of an array; `None` for tuples and for what is no shape.
#[must_use]
pub fn array(text: &str) -> Option<(ElementType, Vec<i64>)> {
    let (name, rest) = text.trim().split_once('[')?;
    let (inside, _) = rest.split_once(']')?;
    let kind = ElementType::from_name(name).filter(|kind| kind.is_array())?;
    let extent = |word: &str| word.trim().trim_start_matches("<=").parse::<i64>().ok().filter(|n| *n >= 0);
    let parts = inside.split(',').filter(|word| !word.trim().is_empty());
    Some((kind, parts.map(extent).collect::<Option<_>>()?))
}

/// Bytes of an array without padding; elements narrower than a byte are taken as packed. `None` where nothing tells.
#[must_use]
pub fn unpadded_bytes(text: &str) -> Option<i64> {
    let (kind, dimensions) = array(text)?;
    let bits = i64::from(kind.bits()?);
    let count = dimensions.iter().try_fold(1i64, |count, n| count.checked_mul(*n))?;
    Some(count.checked_mul(bits)?.checked_add(7)? / 8)
}

/// The shape without its layout.
#[must_use]
pub fn plain(text: &str) -> &str {
    text.find(']').map_or(text, |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_have_bytes() {
        assert_eq!(unpadded_bytes("f32[2048,8192]{1,0:T(8,128)}"), Some(64 << 20));
        assert_eq!(unpadded_bytes("bf16[]"), Some(2));
        assert_eq!(unpadded_bytes("s4[7]"), Some(4));
        assert_eq!(unpadded_bytes("pred[3]"), Some(3));
        for text in ["(f32[2])", "f32", "x[1]", "f32[99999999999,99999999999,9]", "f32[-1]", "f32[a]"] {
            assert_eq!(unpadded_bytes(text), None, "{text}");
        }
        assert_eq!(plain("f32[2,3]{1,0}"), "f32[2,3]");
    }
}

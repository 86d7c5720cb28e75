//! Lists of numbers and things.

use std::fmt;

/// Writes things with a separator between them.
pub(super) fn join<T>(
    f: &mut fmt::Formatter<'_>,
    things: impl IntoIterator<Item = T>,
    separator: &str,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (position, thing) in things.into_iter().enumerate() {
        if position > 0 {
            f.write_str(separator)?;
        }
        write(f, thing)?;
    }
    Ok(())
}

/// Writes numbers between commas.
pub(super) fn numbers(f: &mut fmt::Formatter<'_>, numbers: &[i64]) -> fmt::Result {
    join(f, numbers, ",", |f, n| write!(f, "{n}"))
}

/// Numbers between commas and braces.
pub(super) struct Braced<'a>(pub(super) &'a [i64]);

impl fmt::Display for Braced<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        numbers(f, self.0)?;
        f.write_str("}")
    }
}

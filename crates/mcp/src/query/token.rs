//! The words of a condition.

use super::Wrong;

/// A word of a condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A column, or one of `and`, `or`, `not`, `in`, `is`, `null`, `true`, `false`.
    Name(String),
    /// A number with the letters of a unit behind it, or without.
    Number(f64, String),
    /// What stood between quotes.
    Text(String),
    /// A comparison or a bracket.
    Sign(&'static str),
}

/// Longer signs first.
const SIGNS: &[&str] = &["==", "!=", "<=", ">=", "!~", "=", "<", ">", "~", "(", ")", ","];

/// The longest condition; nobody writes a longer one by hand.
const LONGEST: usize = 2000;

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Wrong> {
    if text.len() > LONGEST {
        return Err(format!("expected a condition of at most {LONGEST} bytes, found {}", text.len()));
    }
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, behind) = if first == '\'' || first == '"' {
            quoted(rest, first)?
        } else if first.is_ascii_digit() || (matches!(first, '.' | '-') && starts_number(rest)) {
            number(rest)?
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            (Token::Name(rest[..end].to_owned()), &rest[end..])
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), &rest[sign.len()..])
        } else {
            return Err(format!(
                "expected a column, a number, a quoted text or a comparison, found `{first}` in `{text}`"
            ));
        };
        tokens.push(token);
        rest = behind.trim_start();
    }
    Ok(tokens)
}

fn starts_number(rest: &str) -> bool {
    let behind = rest.trim_start_matches('-').trim_start_matches('.');
    rest.len() - behind.len() <= 2 && behind.starts_with(|c: char| c.is_ascii_digit())
}

fn quoted(rest: &str, quote: char) -> Result<(Token, &str), Wrong> {
    let inside = &rest[1..];
    let end = inside.find(quote).ok_or_else(|| format!("expected a second {quote} after {quote}{inside}"))?;
    Ok((Token::Text(inside[..end].to_owned()), &inside[end + 1..]))
}

fn number(rest: &str) -> Result<(Token, &str), Wrong> {
    let mut end = 0;
    let mut before = ' ';
    for (at, c) in rest.char_indices() {
        let sign = matches!(c, '-' | '+') && (at == 0 || matches!(before, 'e' | 'E'));
        // `1e9` has an exponent, `1e` would be a unit.
        let exponent = matches!(c, 'e' | 'E')
            && before.is_ascii_digit()
            && rest[at + 1..].trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
        if !(c.is_ascii_digit() || matches!(c, '.' | '_') || sign || exponent) {
            break;
        }
        before = c;
        end = at + c.len_utf8();
    }
    let digits: String = rest[..end].chars().filter(|c| *c != '_').collect();
    let value: f64 = digits.parse().map_err(|_| format!("expected a number, found `{digits}`"))?;
    if !value.is_finite() {
        return Err(format!("expected a number that fits into a double, found `{digits}`"));
    }
    let behind = &rest[end..];
    // The unit may stand behind a space; a word there that is no unit belongs to what follows.
    let unit = behind.trim_start();
    let length =
        unit.find(|c: char| !(c.is_alphabetic() || matches!(c, '%' | '/' | 'µ'))).unwrap_or(unit.len());
    let word = &unit[..length];
    if super::literal::is_unit(word) || (unit.len() == behind.len() && !word.is_empty()) {
        return Ok((Token::Number(value, word.to_owned()), &unit[length..]));
    }
    Ok((Token::Number(value, String::new()), behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_with_and_without_a_space() {
        let number = |value, unit: &str| Token::Number(value, unit.to_owned());
        assert_eq!(tokens("1ms"), Ok(vec![number(1.0, "ms")]));
        assert_eq!(tokens("1.5 GiB"), Ok(vec![number(1.5, "GiB")]));
        assert_eq!(tokens("-3e-2"), Ok(vec![number(-0.03, "")]));
        assert_eq!(tokens("50%"), Ok(vec![number(50.0, "%")]));
        assert_eq!(tokens("1_000"), Ok(vec![number(1000.0, "")]));
        assert_eq!(
            tokens("5 and x"),
            Ok(vec![number(5.0, ""), Token::Name("and".into()), Token::Name("x".into())])
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert!(tokens("a ; b").is_err_and(|e| e.contains("`;`")));
        assert!(tokens("a = 'b").is_err_and(|e| e.contains("second '")));
        assert!(tokens(&"x".repeat(3000)).is_err());
    }
}

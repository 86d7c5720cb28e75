//! A place in the text, and the words that can stand there.

use std::borrow::Cow;

use crate::error::Error;

/// What was expected where. Line and column are worked out only when somebody is told.
#[derive(Debug)]
pub(super) struct Unexpected {
    at: usize,
    expected: Cow<'static, str>,
}

pub(super) type Parsed<T> = Result<T, Unexpected>;

/// Characters of what was found that an error shows.
const SHOWN: usize = 24;

impl Unexpected {
    pub(super) fn new(at: usize, expected: impl Into<Cow<'static, str>>) -> Self {
        Self { at, expected: expected.into() }
    }

    pub(super) fn into_error(self, text: &str) -> Error {
        let at = (0..=self.at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (before, after) = text.split_at(at);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = after.lines().next().unwrap_or_default();
        let found = match line.trim_end() {
            _ if after.is_empty() => "the end of the text".to_owned(),
            "" => "the end of the line".to_owned(),
            line if line.chars().count() > SHOWN => {
                format!("{:?}...", line.chars().take(SHOWN).collect::<String>())
            }
            line => format!("{line:?}"),
        };
        Error::Text {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            expected: self.expected.into_owned(),
            found,
        }
    }
}

/// A place in the text. Every question skips white space and comments first.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// Bytes of names, opcodes, keys and numbers. Bytes of other alphabets stand in names only where a compiler is odd.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | 0x80..)
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Skips white space and comments. A comment without an end is left where it is, and is not what anybody expects.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            match rest {
                [byte, ..] if byte.is_ascii_whitespace() => self.at += 1,
                [b'/', b'*', ..] => match self.text.get(self.at + 2..).and_then(|text| text.find("*/")) {
                    Some(end) => self.at += end + 4,
                    None => return,
                },
                [b'/', b'/', ..] => {
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// The place of the next word.
    pub(super) fn place(&mut self) -> usize {
        self.skip();
        self.at
    }

    pub(super) fn unexpected<T>(&mut self, expected: impl Into<Cow<'static, str>>) -> Parsed<T> {
        Err(Unexpected::new(self.place(), expected))
    }

    pub(super) fn peek(&mut self) -> Option<u8> {
        self.skip();
        self.rest().first().copied()
    }

    /// Whether the next byte follows the last word directly.
    pub(super) fn is_adjacent(&self, byte: u8) -> bool {
        self.rest().first() == Some(&byte)
    }

    /// Takes a mark such as `{` or `->` if it is next.
    pub(super) fn eat(&mut self, mark: &str) -> bool {
        self.skip();
        let is_next = self.rest().starts_with(mark.as_bytes());
        self.at += if is_next { mark.len() } else { 0 };
        is_next
    }

    pub(super) fn expect(&mut self, mark: &'static str) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { self.unexpected(format!("{mark:?}")) }
    }

    /// The next word, or nothing.
    pub(super) fn peek_word(&mut self) -> &'a str {
        self.skip();
        let length = self.rest().iter().position(|byte| !is_word(*byte)).unwrap_or(self.rest().len());
        self.text.get(self.at..self.at + length).unwrap_or_default()
    }

    pub(super) fn word(&mut self, expected: &'static str) -> Parsed<&'a str> {
        let mut word = self.peek_word();
        // A value may be followed by an arrow, of which only the point is no letter.
        if self.rest().get(word.len()) == Some(&b'>') {
            word = word.strip_suffix('-').unwrap_or(word);
        }
        if word.is_empty() {
            return self.unexpected(expected);
        }
        self.at += word.len();
        Ok(word)
    }

    /// Takes a word if it is the next.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is_next = self.peek_word() == word;
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    /// A name, with or without `%`.
    pub(super) fn name(&mut self, expected: &'static str) -> Parsed<&'a str> {
        let place = self.place();
        let has_percent = self.eat("%");
        if has_percent && self.peek().is_some() && self.place() != place + 1 {
            return Err(Unexpected::new(place, expected));
        }
        self.word(expected).map_err(|_| Unexpected::new(place, expected))
    }

    /// The key before a `=`, if that is what comes next.
    pub(super) fn key(&mut self) -> Option<&'a str> {
        let mut ahead = *self;
        let key = ahead.peek_word();
        ahead.at += key.len();
        (!key.is_empty() && ahead.eat("=")).then(|| {
            *self = ahead;
            key
        })
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self, expected: &'static str) -> Parsed<T> {
        let place = self.place();
        let word = self.word(expected)?;
        word.parse().map_err(|_| Unexpected::new(place, expected))
    }

    pub(super) fn integer(&mut self) -> Parsed<i64> {
        self.number("an integer")
    }

    pub(super) fn boolean(&mut self) -> Parsed<bool> {
        self.number("true or false")
    }

    /// A number with a point or an exponent, and what a NaN carries (`nan(0x1)`).
    pub(super) fn real<T: std::str::FromStr>(&mut self, expected: &'static str) -> Parsed<(T, Option<u64>)> {
        let place = self.place();
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b",{}()/".contains(byte);
        let length = self.rest().iter().position(is_end).unwrap_or(self.rest().len());
        let number = self.text.get(place..place + length).and_then(|text| text.parse().ok());
        let Some(number) = number else { return self.unexpected(expected) };
        self.at += length;
        if !self.is_adjacent(b'(') {
            return Ok((number, None));
        }
        self.expect("(")?;
        let word = self.word("the payload of a NaN")?;
        self.expect(")")?;
        let payload = word.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        payload
            .map(|payload| (number, Some(payload)))
            .ok_or_else(|| Unexpected::new(place, "a NaN whose payload is a number"))
    }

    /// The position of a word in a list of those that can stand here.
    pub(super) fn one_of(&mut self, words: &[&str], expected: &'static str) -> Parsed<i32> {
        let place = self.place();
        let word = self.word(expected)?;
        let position = words.iter().position(|known| *known == word);
        position.and_then(|p| i32::try_from(p).ok()).ok_or_else(|| Unexpected::new(place, expected))
    }

    /// Things between marks, with commas between them, which may be left out.
    pub(super) fn list(
        &mut self,
        open: &'static str,
        close: &'static str,
        mut item: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        self.expect(open)?;
        while !self.eat(close) {
            if self.peek().is_none() {
                return self.unexpected(format!("{close:?}"));
            }
            item(self)?;
            self.eat(",");
        }
        Ok(())
    }

    /// Integers between braces.
    pub(super) fn integers(&mut self) -> Parsed<Vec<i64>> {
        let mut numbers = Vec::new();
        self.list("{", "}", |cursor| {
            numbers.push(cursor.integer()?);
            Ok(())
        })?;
        Ok(numbers)
    }

    /// Lists of integers between braces.
    pub(super) fn lists_of_integers(&mut self) -> Parsed<Vec<Vec<i64>>> {
        let mut lists = Vec::new();
        self.list("{", "}", |cursor| {
            lists.push(cursor.integers()?);
            Ok(())
        })?;
        Ok(lists)
    }

    /// Integers with commas between them, up to what is no integer.
    pub(super) fn bare_integers(&mut self) -> Parsed<Vec<i64>> {
        let mut numbers = vec![self.integer()?];
        while self.eat(",") {
            numbers.push(self.integer()?);
        }
        Ok(numbers)
    }

    /// Text between quotes, as C escapes it.
    pub(super) fn bytes(&mut self) -> Parsed<Vec<u8>> {
        const EXPECTED: &str = "text in quotes";
        let Some(quote @ (b'"' | b'\'')) = self.peek() else { return self.unexpected(EXPECTED) };
        let (start, rest) = (self.at, &self.rest()[1..]);
        let mut bytes = Vec::new();
        let mut position = 0;
        while let Some(&byte) = rest.get(position) {
            position += 1;
            match byte {
                byte if byte == quote => {
                    self.at += position + 1;
                    return Ok(bytes);
                }
                b'\\' => position += unescape(&rest[position..], &mut bytes),
                _ => bytes.push(byte),
            }
        }
        Err(Unexpected::new(start, "text in quotes that ends"))
    }

    /// Text between quotes; what is not UTF-8 becomes U+FFFD.
    pub(super) fn string(&mut self) -> Parsed<String> {
        let bytes = self.bytes()?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Text between quotes, or a dictionary between braces that stands for itself.
    pub(super) fn bytes_or_dictionary(&mut self) -> Parsed<Vec<u8>> {
        if self.peek() != Some(b'{') {
            return self.bytes();
        }
        Ok(self.value()?.as_bytes().to_vec())
    }

    /// A value of any kind as it stands there.
    pub(super) fn value(&mut self) -> Parsed<&'a str> {
        let start = self.place();
        self.pass_value()?;
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// Goes past a value of any kind: up to the comma, space or closing mark that is not inside of brackets or quotes.
    pub(super) fn pass_value(&mut self) -> Parsed<()> {
        let (start, rest) = (self.place(), self.rest());
        let mut depth = 0usize;
        let mut position = 0;
        while let Some(&byte) = rest.get(position) {
            match byte {
                b'"' => {
                    let length = rest[position + 1..].iter().enumerate();
                    let mut escaped = false;
                    let end = length.into_iter().find_map(|(at, byte)| {
                        let ends = *byte == b'"' && !escaped;
                        escaped = *byte == b'\\' && !escaped;
                        ends.then_some(at)
                    });
                    let Some(end) = end else { break };
                    position += end + 1;
                }
                b'{' | b'(' | b'[' => depth += 1,
                b'}' | b')' | b']' | b',' if depth == 0 => break,
                byte if depth == 0 && byte.is_ascii_whitespace() => break,
                b'}' | b')' | b']' => {
                    depth -= 1;
                    let next = rest.get(position + 1);
                    if depth == 0
                        && !next
                            .is_some_and(|byte| is_word(*byte) || matches!(byte, b'[' | b'(' | b'{' | b'<'))
                    {
                        position += 1;
                        break;
                    }
                }
                _ => {}
            }
            position += 1;
        }
        self.at += position;
        if depth > 0 || position == 0 || rest.get(position) == Some(&b'"') {
            return Err(Unexpected::new(start, "a value whose brackets and quotes match"));
        }
        Ok(())
    }
}

/// Undoes one escape whose backslash has been read; says how many bytes it took.
fn unescape(rest: &[u8], bytes: &mut Vec<u8>) -> usize {
    let is_octal = |byte: &&u8| matches!(byte, b'0'..=b'7');
    match rest {
        [b'n', ..] => bytes.push(b'\n'),
        [b'r', ..] => bytes.push(b'\r'),
        [b't', ..] => bytes.push(b'\t'),
        [b'a', ..] => bytes.push(7),
        [b'b', ..] => bytes.push(8),
        [b'f', ..] => bytes.push(12),
        [b'v', ..] => bytes.push(11),
        [b'x' | b'X', digits @ ..] if digits.first().is_some_and(u8::is_ascii_hexdigit) => {
            let count = digits.iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
            let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or_default() as u8;
            bytes.push(digits[..count].iter().fold(0, |value, byte| value << 4 | digit(byte)));
            return count + 1;
        }
        [b'0'..=b'7', ..] => {
            let count = rest.iter().take(3).take_while(is_octal).count();
            bytes.push(rest[..count].iter().fold(0u8, |value, byte| value << 3 | (byte - b'0')));
            return count;
        }
        [byte, ..] => bytes.push(*byte),
        [] => return 0,
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_comments_and_white_space() {
        let mut cursor = Cursor::new(" /*index=5*/ a // b\n -> {} /* open");
        assert_eq!(cursor.word("a word").unwrap(), "a");
        assert!(cursor.eat("->") && cursor.eat("{") && cursor.is_adjacent(b'}'));
        cursor.expect("}").unwrap();
        assert!(cursor.expect("}").is_err());
    }

    #[test]
    fn undoes_escapes() {
        let mut cursor = Cursor::new(r#""a\"b\'\\\n\302\265\x41\q" 'x"'"#);
        assert_eq!(cursor.string().unwrap(), "a\"b'\\\nµAq");
        assert_eq!(cursor.bytes().unwrap(), b"x\"");
        assert!(Cursor::new("\"abc\\").bytes().is_err());
    }

    #[test]
    fn passes_values_of_any_kind() {
        for value in
            [r#"{a="}" b={c}}"#, "[2,2]<=[4]", "b01f_01io->b01f", "{}", "\"a, b\"", "12", "bf16[8]{0}"]
        {
            let text = format!("{value}, next=1");
            let mut cursor = Cursor::new(&text);
            cursor.pass_value().unwrap();
            assert!(cursor.eat(","), "{value}");
        }
        for broken in ["{", "", ", a", "}", "\"open", "{\"}"] {
            assert!(Cursor::new(broken).pass_value().is_err(), "{broken}");
        }
    }

    #[test]
    fn names_line_and_column() {
        let text = "ab\ncdé f";
        let error = Unexpected::new(text.find('f').unwrap(), "a number").into_error(text);
        assert_eq!(error.to_string(), r#"line 2, column 5: expected a number, found "f""#);
        let error = Unexpected::new(text.len(), "more").into_error(text);
        assert_eq!(error.to_string(), "line 2, column 6: expected more, found the end of the text");
    }
}

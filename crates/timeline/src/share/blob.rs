//! Messages of which only the strings are known: compiled kernels, private configurations. Words are written over in place, so that
//! every length in them stays right.

use std::ops::Range;

use super::words::Words;

/// Printable bytes in a row in which a path is looked for.
const LEAST_PATH: usize = 6;
/// Shorter words are not looked for: other numbers may look like them.
const LEAST_WORD: usize = 4;
/// Characters of base64 in a row that are looked into.
const LEAST_BASE64: usize = 64;

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Writes over all words that have a replacement, and over all words of paths to sources.
pub(super) fn overwrite(bytes: &mut [u8], words: &mut Words) {
    let mut at = 0;
    while at < bytes.len() {
        let is_printable = |byte: &u8| (0x20..0x7f).contains(byte);
        let end = bytes[at..].iter().position(|byte| !is_printable(byte)).map_or(bytes.len(), |n| at + n);
        if end > at {
            run(&mut bytes[at..end], words);
        }
        at = end + 1;
    }
}

/// A run of printable characters.
fn run(bytes: &mut [u8], words: &mut Words) {
    let is_path = bytes.len() >= LEAST_PATH
        && bytes.contains(&b'/')
        && [&b".py"[..], b".cc", b".cpp", b".h", b"/home/", b"/usr/", b"/tmp/"]
            .iter()
            .any(|mark| bytes.windows(mark.len()).any(|part| part == *mark));
    let mut at = 0;
    while at < bytes.len() {
        if !is_of_word(bytes[at]) {
            at += 1;
            continue;
        }
        let end = bytes[at..].iter().position(|byte| !is_of_word(*byte)).map_or(bytes.len(), |n| at + n);
        if let Ok(word) = std::str::from_utf8(&bytes[at..end]) {
            let new = match words.known(word) {
                Some(new) if word.len() >= LEAST_WORD || is_path => Some(new.to_owned()),
                None if is_path => Some(words.strictly(word)),
                _ => None,
            };
            if let Some(new) = new.filter(|new| new.len() == end - at) {
                bytes[at..end].copy_from_slice(new.as_bytes());
            }
        }
        at = end;
    }
}

/// The runs of base64 in a text that are long enough to hold something, and what they hold.
pub(super) fn base64_runs(text: &str) -> Vec<(Range<usize>, Vec<u8>)> {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end = at + rest.find(|c| !is_base64(c)).unwrap_or(rest.len());
        if end - at >= LEAST_BASE64
            && let Some(bytes) = decode(&text[at..end])
        {
            runs.push((at..end, bytes));
        }
        at = end + text[end..].chars().next().map_or(0, char::len_utf8);
    }
    runs
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn decode(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return None;
    }
    let padding = bytes.iter().rev().take_while(|byte| **byte == b'=').count();
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    for group in bytes.chunks(4) {
        let mut word = 0_u32;
        for byte in group {
            let value = match byte {
                b'=' => 0,
                byte => u32::try_from(ALPHABET.iter().position(|known| known == byte)?).ok()?,
            };
            word = word << 6 | value;
        }
        out.extend(&word.to_be_bytes()[1..]);
    }
    out.truncate(out.len().checked_sub(padding).filter(|_| padding <= 2)?);
    Some(out)
}

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes(word);
        for place in 0..4 {
            let digit = ALPHABET[(word >> (18 - 6 * place)) as usize & 63];
            out.push(if place > group.len() { '=' } else { char::from(digit) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_what_it_was() {
        for length in 0..70_u8 {
            let bytes: Vec<u8> = (0..length).map(|i| i.wrapping_mul(37)).collect();
            assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
        }
        assert_eq!(encode(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
        assert!(decode("abc").is_none() && decode("ab-d").is_none());
    }

    #[test]
    fn words_in_blobs_go_and_lengths_stay() {
        let mut words = Words::default();
        let new = words.of("secret_kernel");
        let mut blob =
            [&b"\x0a\x0dsecret_kernel\x00tpu.matmul\x00"[..], b"/home/alice/model.py\x00\xff\xfe"].concat();
        let length = blob.len();
        overwrite(&mut blob, &mut words);
        assert_eq!(blob.len(), length);
        let has = |text: &str| blob.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(has(&new) && has("tpu.matmul") && !has("secret") && !has("alice") && !has("model"));
        let body = encode(&[b"xx secret_kernel xx".repeat(4), vec![0, 1, 2]].concat());
        let text = format!("{{\"body\": \"{body}\", \"name\": \"secret_kernel\"}}");
        let runs = base64_runs(&text);
        assert_eq!(runs.len(), 1);
        assert_eq!(&text[runs[0].0.clone()], body);
        let mut inner = runs[0].1.clone();
        overwrite(&mut inner, &mut words);
        let inner = String::from_utf8_lossy(&inner).into_owned();
        assert!(inner.contains(&new) && !inner.contains("secret"), "{inner}");
    }
}

//! Messages of which only the strings are known: compiled kernels, private configurations. Words are written over in place, so that
//! every length in them stays right.

use std::ops::Range;

use super::words::{Words, is_known};

/// Bytes in a row in which a path is looked for.
const LEAST_PATH: usize = 6;
/// Characters of base64 in a row that are looked into.
const LEAST_BASE64: usize = 64;

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Endings of the names of sources, after which the next field of a message may stand without anything between.
const ENDINGS: [&str; 4] = ["py", "cc", "cpp", "h"];

/// Writes over all words that have a replacement, and over all words of paths to sources. Bytes that frame a string may be letters or
/// digits too, so words are found wherever they stand, but for those inside of words that stay.
pub(super) fn overwrite(bytes: &mut [u8], words: &mut Words) {
    for chunk in runs(bytes, |byte| is_of_word(byte) || b"./-+~@".contains(&byte)) {
        if let Some(at) = path(&bytes[chunk.clone()]) {
            path_words(&mut bytes[chunk], at, words);
        }
    }
    for (range, new) in words.found(bytes) {
        let start = bytes[..range.start].iter().rposition(|byte| !is_of_word(*byte)).map_or(0, |at| at + 1);
        let end = bytes[range.end..]
            .iter()
            .position(|byte| !is_of_word(*byte))
            .map_or(bytes.len(), |n| range.end + n);
        let around = std::str::from_utf8(&bytes[start..end]).unwrap_or_default();
        if !is_known(around) {
            bytes[range].copy_from_slice(new.as_bytes());
        }
    }
}

/// The longest stretches of bytes that are such.
fn runs(bytes: &[u8], is_such: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(|byte| is_such(*byte)).map(|n| at + n) {
        at = bytes[start..].iter().position(|byte| !is_such(*byte)).map_or(bytes.len(), |n| start + n);
        runs.push(start..at);
    }
    runs
}

/// Where in a chunk without spaces and brackets a path begins; `None` where there is none.
fn path(chunk: &[u8]) -> Option<usize> {
    const ROOTS: [&[u8]; 6] = [b"/home/", b"/usr/", b"/tmp/", b"/root/", b"/mnt/", b"/Users/"];
    let find = |mark: &[u8]| chunk.windows(mark.len()).position(|part| part == mark);
    if chunk.len() < LEAST_PATH {
        return None;
    }
    if let Some(at) = ROOTS.iter().filter_map(|root| find(root)).min() {
        return Some(at);
    }
    let is_source = |ending: &&[u8]| {
        let after = find(ending).map(|at| chunk.get(at + ending.len()));
        after.is_some_and(|next| *ending == b".py" || next.is_none_or(|byte| !is_of_word(*byte)))
    };
    let is_path = chunk.contains(&b'/') && [&b".py"[..], b".cc", b".cpp", b".h"].iter().any(is_source);
    // A string's length may be a letter too, right before it.
    let is_length = |first: &u8| {
        let end = 1 + usize::from(*first);
        is_of_word(*first) && (chunk.len().saturating_sub(2)..=chunk.len()).contains(&end)
    };
    is_path.then(|| usize::from(chunk.first().is_some_and(is_length)))
}

/// Writes over the words of a path that begins there, but for what stands behind the ending of its name.
fn path_words(chunk: &mut [u8], begin: usize, words: &mut Words) {
    for word in runs(&chunk[begin..], is_of_word) {
        let word = begin + word.start..begin + word.end;
        let Ok(text) = std::str::from_utf8(&chunk[word.clone()]) else { continue };
        let is_ending = word.start > 0
            && chunk[word.start - 1] == b'.'
            && ENDINGS.iter().any(|end| text.starts_with(end));
        let new = words.strictly(text);
        if !is_ending && new.len() == word.len() {
            chunk[word].copy_from_slice(new.as_bytes());
        }
    }
}

/// How what is packed into texts begins: MLIR bytecode, gzip, zlib. Other base64 is a word like any other: a path may look like it.
const PACKED: [&[u8]; 5] = [b"ML\xefR", b"\x1f\x8b", b"\x78\x01", b"\x78\x9c", b"\x78\xda"];

/// The runs of base64 in a text that hold something packed, and what they hold.
pub(super) fn base64_runs(text: &str) -> Vec<(Range<usize>, Vec<u8>)> {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end = at + rest.find(|c| !is_base64(c)).unwrap_or(rest.len());
        if end - at >= LEAST_BASE64
            && let Some(bytes) = decode(&text[at..end])
            && PACKED.iter().any(|magic| bytes.starts_with(magic))
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
    fn words_go_whatever_stands_next_to_them() {
        let mut words = Words::default();
        words.of("jit_zebrafish");
        words.of("zebrafish_model");
        words.of("norm_");
        words.is_whole = true;
        for (text, left) in [
            ("jit_zebrafish", "zebrafish"),
            ("zebrafish_model_12", "zebrafish"),
            ("\x0a\x0fzebrafish_model0\x01", "zebrafish"),
            ("\x0aBzebrafish_modelB", "zebrafish"),
            ("Fzebrafish_qqq", "zebrafish"),
        ] {
            let mut bytes = text.as_bytes().to_vec();
            overwrite(&mut bytes, &mut words);
            assert_eq!(bytes.len(), text.len());
            let after = String::from_utf8_lossy(&bytes);
            assert!(!after.contains(left), "{text}: {after}");
        }
        // A word that stays, stays, and so does what frames a path.
        let mut bytes = b"dot_general \x0a\x14/usr/zebra/models.pyB\x02".to_vec();
        words.of("dot_");
        overwrite(&mut bytes, &mut words);
        let after = String::from_utf8_lossy(&bytes).into_owned();
        assert!(
            after.starts_with("dot_general") && after.contains(".pyB") && !after.contains("zebra"),
            "{after}"
        );
    }

    #[test]
    fn what_frames_a_string_stays() {
        let mut words = Words::default();
        words.of("unrelated");
        words.is_whole = true;
        let path = format!("zebra/{}/model.py", "d".repeat(56));
        assert_eq!(path.len(), usize::from(b'G'));
        let framed = format!("\x0aG{path}B\x02");
        let mut bytes = framed.as_bytes().to_vec();
        overwrite(&mut bytes, &mut words);
        assert_eq!((&bytes[..2], &bytes[bytes.len() - 2..]), (&b"\x0aG"[..], &b"B\x02"[..]));
        assert!(!bytes.windows(5).any(|part| part == b"zebra"));
        // No path: `.h` is of another word.
        let text = b"w/div 2JCBoundsCheck 0 for dma.hbm_to_vmem".to_vec();
        let mut bytes = text.clone();
        overwrite(&mut bytes, &mut words);
        assert_eq!(bytes, text);
    }

    #[test]
    fn a_long_path_is_no_base64() {
        let path = format!("/home/{}/abcd", "secret/".repeat(9));
        let text = &path[..path.len() / 4 * 4];
        assert!(text.len() >= LEAST_BASE64 && base64_runs(text).is_empty());
    }

    #[test]
    fn words_in_blobs_go_and_lengths_stay() {
        let mut words = Words::default();
        let new = words.of("secret_kernel");
        words.is_whole = true;
        let mut blob =
            [&b"\x0a\x0dsecret_kernel\x00tpu.matmul\x00"[..], b"/usr/zebrafish/model.py\x00\xff\xfe"]
                .concat();
        let length = blob.len();
        overwrite(&mut blob, &mut words);
        assert_eq!(blob.len(), length);
        let has = |text: &str| blob.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(has(&new) && has("tpu.matmul") && !has("secret") && !has("zebrafish") && !has("model"));
        let body = encode(&[b"ML\xefR".to_vec(), b"xx secret_kernel xx".repeat(4), vec![0, 1, 2]].concat());
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

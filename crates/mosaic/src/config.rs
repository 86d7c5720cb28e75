//! The kernel inside the backend's configuration of a custom call.

use std::borrow::Cow;

use crate::error::Error;

/// The bytecode that the JSON of a custom call's backend configuration holds, in its member `custom_call_config.body`;
/// `None` where it holds none.
///
/// # Errors
/// [`Error::NotBase64`] where the body is not base64.
pub fn body(config: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    encoded_body(config).map(|text| decode(&text)).transpose()
}

/// The body's text, without the escapes that JSON may write for `/` and `=`.
fn encoded_body(config: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(config).ok()?;
    let (_, rest) = text.split_once("\"custom_call_config\"")?;
    let (_, rest) = rest.split_once("\"body\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (body, _) = rest.split_once('"')?;
    Some(if body.contains('\\') {
        Cow::Owned(body.replace("\\/", "/").replace("\\u003d", "=").replace("\\n", ""))
    } else {
        Cow::Borrowed(body)
    })
}

/// Base64 with the alphabet of RFC 4648, section 4 or 5, padded or not.
fn decode(text: &str) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for (offset, byte) in text.trim_end_matches('=').bytes().enumerate() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return Err(Error::NotBase64 { offset }),
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_found_and_decoded() {
        let config = br#"{"custom_call_config": {"body": "TUzvUg==", "needs_layout_passes":true}}"#;
        assert_eq!(body(config), Ok(Some(b"ML\xefR".to_vec())));
        assert_eq!(body(br#"{"custom_call_config":{"body":"\/\/8\u003d"}}"#), Ok(Some(vec![255, 255])));
        assert_eq!(body(br#"{"custom_call_config":{"body":"a b"}}"#), Err(Error::NotBase64 { offset: 1 }));
    }

    #[test]
    fn what_has_no_kernel_has_no_body() {
        for config in ["", "{}", r#"{"body":"TUzvUg=="}"#, r#"{"custom_call_config":{"body":"TUz"#] {
            assert_eq!(body(config.as_bytes()), Ok(None), "{config}");
        }
        assert_eq!(body(b"\xff"), Ok(None));
    }
}

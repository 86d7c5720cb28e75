//! Texts with flags of XLA or libtpu: launch scripts, environment dumps, JSON, YAML, Python.

use std::path::Path;

use haloscope_hlo::Form;

/// Bytes that are looked at; scripts are shorter.
const HEAD: usize = 4 << 20;

/// What only such texts have.
const MARKS: [&str; 8] =
    ["--xla_", "--noxla_", "--megascale_", "XLA_FLAGS", "LIBTPU_INIT_ARGS", "\"xla_", "'xla_", "xla_tpu_"];

/// True if a file that is neither called a profile nor holds HLO is a text that names such flags.
pub(super) fn is_meant(path: &Path, bytes: &[u8]) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if name.contains(".pb") || Form::of(bytes).is_some() {
        return false;
    }
    let head = &bytes[..bytes.len().min(HEAD)];
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && bytes.len() > HEAD => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let is_plain = !text.chars().any(|c| c.is_control() && !c.is_whitespace() && c != '\u{1b}');
    is_plain && MARKS.iter().any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_flags_are_told_from_others() {
        let is = |name: &str, text: &str| is_meant(Path::new(name), text.as_bytes());
        assert!(is("launch.sh", "export XLA_FLAGS=--xla_dump_to=/tmp/x\n"));
        assert!(is("options.json", "{\"xla_tpu_scoped_vmem_limit_kib\": 98304}"));
        assert!(!is("notes.txt", "nothing of the kind"));
        assert!(!is("host.xplane.pb", "export XLA_FLAGS=--xla_dump_to=/tmp/x\n"));
        assert!(!is(
            "module.txt",
            "HloModule m\n\nENTRY e {\n  ROOT x = f32[] parameter(0), frontend_attributes={a=\"--xla_b\"}\n}\n"
        ));
        assert!(!is_meant(Path::new("words"), b"--xla_\xff\xfe"));
    }
}

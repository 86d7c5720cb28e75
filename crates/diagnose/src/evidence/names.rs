//! How ops are called in sentences.

use haloscope_time::op_meta::OpMeta;
use haloscope_time::ops::Op;

/// The last three parts of a framework scope path, with numbers erased, so that the same op of each layer has one name. The
/// HLO name without its number where there is no path.
pub(crate) fn framework_tail(meta: &OpMeta<'_>) -> String {
    let path = meta.framework_op.as_ref();
    if path.is_empty() {
        return meta.name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned();
    }
    let parts: Vec<&str> = path.split('/').collect();
    let tail = parts.get(parts.len().saturating_sub(3)..).unwrap_or(&parts).join("/");
    let mut out = String::with_capacity(tail.len());
    for c in tail.chars() {
        match c {
            c if !c.is_ascii_digit() => out.push(c),
            _ if out.ends_with('#') => {}
            _ => out.push('#'),
        }
    }
    out
}

/// A number with its word: `1 op`, `3 ops`.
pub(crate) fn counted(number: u64, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// A group of ops in a sentence: ``fusion.12 (`mlp/dot_general`)``, ``5 ops of `mlp/dot_general` (fusion.12 and others)``.
pub(crate) fn common<'a, 'p: 'a>(ops: impl Iterator<Item = &'a Op<'p>>) -> String {
    let ops: Vec<&Op<'_>> = ops.collect();
    let Some(first) = ops.first() else { return String::new() };
    let (name, path) = (first.meta.name.as_ref(), first.meta.framework_op.as_ref());
    match (ops.len(), path.is_empty()) {
        (1, true) => name.to_owned(),
        (1, false) => format!("{name} (`{path}`)"),
        (n, true) => format!("{n} ops such as {name}"),
        (n, false) => {
            let parts: Vec<&str> = path.split('/').collect();
            let tail = parts.get(parts.len().saturating_sub(3)..).unwrap_or(&parts).join("/");
            format!("{n} ops of `{tail}` ({name} and others)")
        }
    }
}

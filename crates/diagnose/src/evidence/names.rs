//! How ops are called in sentences.

use haloscope_program::attribution::is_frame;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::ops::Op;
use haloscope_time::phase::components;

/// The last three parts of a framework scope path, with numbers erased, so that the same op of each layer has one name. The
/// HLO name without its number where there is no path.
pub(crate) fn framework_tail(meta: &OpMeta<'_>) -> String {
    let path = meta.framework_op.as_ref();
    if path.is_empty() {
        return meta.name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned();
    }
    let parts: Vec<&str> = path.split('/').collect();
    erased(&parts.get(parts.len().saturating_sub(3)..).unwrap_or(&parts).join("/"))
}

/// A path with a `#` for each number.
fn erased(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            c if !c.is_ascii_digit() => out.push(c),
            _ if out.ends_with('#') => {}
            _ => out.push('#'),
        }
    }
    out
}

/// The scopes of a framework path that a program's author named, with numbers erased: without the op, [what JAX puts between
/// them](is_frame), the equation of an einsum, which is the op's, and what autodiff wraps, so that the forward and backward pass of one
/// place have one name. Empty where there is none.
pub(crate) fn named_scope(meta: &OpMeta<'_>) -> String {
    let parts: Vec<&str> = components(&meta.framework_op).collect();
    let scopes = parts[..parts.len().saturating_sub(1)].iter().filter_map(|part| {
        let mut inner = *part;
        while let Some(wrapped) = ["transpose(", "jvp(", "vmap("].iter().find_map(|w| inner.strip_prefix(w)) {
            inner = wrapped.strip_suffix(')').unwrap_or(wrapped);
        }
        (!inner.is_empty() && !is_frame(inner) && !inner.contains("->")).then(|| erased(inner))
    });
    scopes.collect::<Vec<_>>().join("/")
}

/// A number with its word: `1 op`, `3 ops`.
pub(crate) fn counted(number: u64, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// A group of ops in a sentence, by what all of them have in common: ``fusion.12 (`mlp/dot_general`)``, ``5 ops of
/// `mlp/dot_general` (fusion.12 and others)``, `5 ops such as fusion.12` where that is nothing.
pub(crate) fn common<'a, 'p: 'a>(ops: impl Iterator<Item = &'a Op<'p>>) -> String {
    let ops: Vec<&Op<'_>> = ops.collect();
    let Some(first) = ops.first() else { return String::new() };
    let (name, path) = (first.meta.name.as_ref(), first.meta.framework_op.as_ref());
    if let [_] = ops[..] {
        return if path.is_empty() { name.to_owned() } else { format!("{name} (`{path}`)") };
    }
    match shared_path(ops.iter().map(|op| &op.meta)) {
        Some(shared) => format!("{} ops of `{shared}` ({name} and others)", ops.len()),
        None => format!("{} ops such as {name}", ops.len()),
    }
}

/// The end of a path, where it says most.
fn tail(path: &[&str]) -> String {
    path.get(path.len().saturating_sub(3)..).unwrap_or(path).join("/")
}

/// What the framework scope paths of ops have in common: the end of them, with numbers erased where these differ, as those of
/// the layers do; else the scope around all. `None` where one has no path, or they have no more in common than the program.
fn shared_path<'a, 'p: 'a>(metas: impl Iterator<Item = &'a OpMeta<'p>> + Clone) -> Option<String> {
    let mut paths = metas.clone().map(|meta| meta.framework_op.as_ref());
    let first: Vec<&str> = paths.clone().next()?.split('/').collect();
    if paths.clone().any(str::is_empty) {
        return None;
    }
    let end = tail(&first);
    if paths.all(|path| tail(&path.split('/').collect::<Vec<_>>()) == end) {
        return Some(end);
    }
    let erased = framework_tail(metas.clone().next()?);
    if metas.clone().all(|meta| framework_tail(meta) == erased) {
        return Some(erased);
    }
    let alike = |path: &str| path.split('/').zip(&first).take_while(|(own, of)| own == *of).count();
    let shared = &first[..metas.map(|meta| alike(&meta.framework_op)).min()?];
    let is_program = |part: &str| part.starts_with("jit(") || part.starts_with("pjit(") || part == "main";
    shared.iter().any(|part| !is_program(part)).then(|| tail(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(paths: &[&'static str]) -> Option<String> {
        let meta = |path: &&'static str| OpMeta { framework_op: (*path).into(), ..OpMeta::default() };
        let metas: Vec<OpMeta<'_>> = paths.iter().map(meta).collect();
        shared_path(metas.iter())
    }

    #[test]
    fn the_forward_and_the_backward_pass_of_a_place_have_one_name() {
        let of = |path: &'static str| named_scope(&OpMeta { framework_op: path.into(), ..OpMeta::default() });
        assert_eq!(of("jit(f)/jvp(head)/dot_general"), "head");
        assert_eq!(of("jit(f)/transpose(jvp(head))/dot_general"), "head");
        assert_eq!(
            of("jit(f)/transpose(jvp())/while/body/closed_call/checkpoint/layer_3/mlp/dot"),
            "layer_#/mlp"
        );
        let einsum = "jit(f)/transpose(jvp(net))/attention/bhqk,bkhd->bqhd/dot_general";
        assert_eq!(of(einsum), "net/attention");
        // A scope whose name has a slash is wrapped whole.
        assert_eq!(of("jit(f)/jvp(net/head)/dot_general"), "net/head");
        for none in ["jit(f)/transpose(jvp())/while/body/dot", "dot", ""] {
            assert_eq!(of(none), "", "{none}");
        }
    }

    #[test]
    fn a_group_is_called_by_what_all_have_in_common() {
        let same = ["jit(f)/net/mlp/dot", "jit(g)/net/mlp/dot"];
        assert_eq!(shared(&same).as_deref(), Some("net/mlp/dot"));
        let layers = ["jit(f)/layer_1/mlp/dot", "jit(f)/layer_2/mlp/dot"];
        assert_eq!(shared(&layers).as_deref(), Some("layer_#/mlp/dot"));
        let below = ["jit(f)/net/mlp/dot", "jit(f)/net/mlp/add", "jit(f)/net/norm/mul"];
        assert_eq!(shared(&below).as_deref(), Some("jit(f)/net"));
        // One of three in `logits` gives the group no name.
        assert_eq!(shared(&["jit(f)/jvp(logits)/dot", "jit(f)/embed/add", "jit(f)/mul"]), None);
        assert_eq!(shared(&["jit(f)/logits/dot", ""]), None);
        assert_eq!(shared(&[]), None);
    }
}

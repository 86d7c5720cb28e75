//! What kind of work an op is: the words that agents know from servers for XProf, decided by a table that is data.

use std::sync::LazyLock;

use serde::Deserialize;

/// The rules; a test reads them, so that they cannot be malformed.
const TABLE: &str = include_str!("categories.toml");

/// What is in no rule.
pub(super) const OTHER: &str = "other";

static RULES: LazyLock<Rules> = LazyLock::new(|| toml::from_str(TABLE).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    scope: Vec<ScopeRule>,
    op: Vec<OpRule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScopeRule {
    category: String,
    segments: Vec<String>,
    #[expect(dead_code, reason = "for readers of the table")]
    why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpRule {
    category: String,
    names: Vec<String>,
    #[expect(dead_code, reason = "for readers of the table")]
    why: String,
}

/// All categories, in the order of the table, with [`OTHER`] at the end.
pub(super) fn all() -> Vec<&'static str> {
    let mut all: Vec<&'static str> = Vec::new();
    let scopes = RULES.scope.iter().map(|rule| rule.category.as_str());
    for category in scopes.chain(RULES.op.iter().map(|rule| rule.category.as_str())) {
        if !all.contains(&category) {
            all.push(category);
        }
    }
    all.push(OTHER);
    all
}

/// The category of an op from its path in the program, such as `jit(f)/attention/dot_general`, and from what else is known of
/// the op itself: its type, opcode or HLO category.
pub(super) fn category_of(path: &str, own: &[&str]) -> &'static str {
    let segments: Vec<String> = path.trim_end_matches(':').split('/').map(plain).collect();
    // The last segment is the op; a Pallas kernel's scope is its name, and `pallas_call` the op.
    let scopes = segments.split_last().map_or(&segments[..], |(_, scopes)| scopes);
    let of_scope = |segment: &String| {
        RULES.scope.iter().find(|rule| rule.segments.iter().any(|name| fits(name, segment)))
    };
    if let Some(rule) = scopes.iter().rev().find_map(of_scope) {
        return &rule.category;
    }
    let own = own.iter().map(|name| name.trim().to_lowercase());
    let mut names = segments.last().cloned().into_iter().chain(own);
    let of_op = |name: String| RULES.op.iter().find(|rule| rule.names.iter().any(|known| fits(known, &name)));
    if let Some(rule) = names.find_map(of_op) {
        return &rule.category;
    }
    // A kernel may be named by what it does, without any scope around it.
    segments.last().and_then(of_scope).map_or(OTHER, |rule| rule.category.as_str())
}

/// A segment as rules are compared with it: `transpose(jvp(Attention_0))` is `attention`.
fn plain(segment: &str) -> String {
    let mut rest = segment.trim();
    // Shapes of an einsum have commas and arrows, no brackets; what has brackets is a transformation.
    while let Some((_, inner)) = rest.split_once('(').filter(|_| rest.ends_with(')')) {
        rest = &inner[..inner.len() - 1];
    }
    let digits = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    let rest = match digits.strip_suffix(['_', '.']) {
        Some(stem) if digits.len() < rest.len() && !stem.is_empty() => stem,
        _ => rest,
    };
    rest.to_lowercase()
}

/// Whether a name of the table, which may have a `*` at its start, end or once inside, stands for this segment.
fn fits(name: &str, segment: &str) -> bool {
    match (name.strip_prefix('*'), name.strip_suffix('*')) {
        (Some(tail), _) => segment.ends_with(tail),
        (_, Some(head)) => segment.starts_with(head),
        _ => match name.split_once('*') {
            Some((head, tail)) => {
                segment.len() >= head.len() + tail.len()
                    && segment.starts_with(head)
                    && segment.ends_with(tail)
            }
            None => name == segment,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let rules: Result<Rules, _> = toml::from_str(TABLE);
        assert!(rules.is_ok(), "{:?}", rules.err());
        assert_eq!(all(), ["gla", "moe", "attention", "norm", "embedding", "collective", "matmul", "other"]);
        for rule in &RULES.scope {
            assert!(!rule.segments.is_empty(), "{}", rule.category);
        }
    }

    #[test]
    fn segments_are_compared_whole() {
        // Each of these holds the name of a category as a part of a longer word.
        assert_eq!(category_of("jit(f)/inattention/add", &[]), "other");
        assert_eq!(category_of("jit(f)/moemlp/add", &[]), "other");
        assert_eq!(category_of("jit(f)/normalize_inputs/add", &[]), "other");
        assert_eq!(category_of("jit(f)/dotted/add", &["loop fusion"]), "other");
        assert_eq!(category_of("jit(f)/anglais/dot_general", &[]), "matmul");
    }

    #[test]
    fn the_innermost_scope_decides() {
        assert_eq!(
            category_of("jit(step)/jvp()/while/body/moe_layer/attention/bhqk,bkhd->bqhd/dot_general", &[]),
            "attention"
        );
        assert_eq!(category_of("jit(step)/decoder/self_attention/rms_norm/mul", &[]), "norm");
        assert_eq!(category_of("jit(step)/moe_layer/shard_map/dispatch/all_to_all", &["all-to-all"]), "moe");
        assert_eq!(category_of("jit(step)/linear_attention/dot_general", &[]), "gla");
        assert_eq!(category_of("jit(step)/transpose(jvp(logits))/bsd,vd->bsv/dot_general", &[]), "embedding");
    }

    #[test]
    fn transformations_and_numbers_do_not_hide_a_name() {
        assert_eq!(category_of("jit(step)/transpose(jvp(LayerNorm_3))/add", &[]), "norm");
        assert_eq!(category_of("jit(step)/jvp(jit(attn))/exp", &[]), "attention");
        assert_eq!(
            category_of("jit(bench)/fused_attention_kernel/pallas_call", &["custom-call"]),
            "attention"
        );
        assert_eq!(category_of("fused_attention_kernel.1", &["custom-call"]), "attention");
    }

    #[test]
    fn without_a_scope_the_op_says_what_it_is() {
        assert_eq!(category_of("fusion.390", &["convolution fusion"]), "matmul");
        assert_eq!(category_of("all-reduce.57", &["all-reduce"]), "collective");
        assert_eq!(category_of("jit(step)/shard_map/psum", &[]), "collective");
        assert_eq!(category_of("jit(step)/mlp/bsf,fd->bsd/dot_general", &[]), "matmul");
        assert_eq!(category_of("copy.4", &["copy"]), "other");
        assert_eq!(category_of("", &[]), "other");
    }
}

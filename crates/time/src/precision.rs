//! In which element types the program computes.

use super::op_meta::is_container;
use super::ops::Op;

/// Self time of ops that compute FLOPs by the element type of their result, largest first. The type is read from the HLO
/// expression; ops without one count as `unknown`.
#[must_use]
pub fn by_result_type(ops: &[Op<'_>]) -> Vec<(String, i64)> {
    let mut out: Vec<(String, i64)> = Vec::new();
    for op in ops.iter().filter(|op| op.flops.is_some_and(|f| f > 0.0) && !is_container(&op.meta.category)) {
        let kind = result_type(&op.meta.expression).unwrap_or("unknown");
        match out.iter_mut().find(|(k, _)| k == kind) {
            Some((_, ps)) => *ps = ps.saturating_add(op.self_ps),
            None => out.push((kind.to_owned(), op.self_ps)),
        }
    }
    out.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    out
}

/// The first element type in an HLO expression: `%fusion = (bf16[8,128]{1,0}, …` gives `bf16`.
fn result_type(expression: &str) -> Option<&str> {
    let shape = expression.split_once(" = ").map_or(expression, |(_, shape)| shape);
    let start = shape.trim_start_matches('(');
    let (kind, _) = start.split_once('[')?;
    kind.bytes().all(|b| b.is_ascii_alphanumeric()).then_some(kind).filter(|k| !k.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_type_of_the_result() {
        assert_eq!(result_type("%f.1 = bf16[8,128]{1,0:T(8,128)} fusion(f32[8]{0} %p)"), Some("bf16"));
        assert_eq!(result_type("%t = ((f32[2]{0}), s32[]) tuple()"), Some("f32"));
        assert_eq!(result_type("f8e4m3fn[4]{0} dot"), Some("f8e4m3fn"));
        assert_eq!(result_type(""), None);
    }
}

//! What a framework says of an op: `scope/of/op:Type`, as TensorFlow and JAX write it.

/// Which framework wrote a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framework {
    /// Nobody known.
    Unknown,
    /// `model/layer/MatMul:MatMul`.
    TensorFlow,
    /// `jit(step)/dot_general:` or `…:dot_general[…]`.
    Jax,
    /// `Iterator::Batch::Map`: a stage of `tf.data`.
    TfData,
    /// A copy between host and device.
    Copy,
}

/// A framework op's full name, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameworkOp<'a> {
    /// Who wrote it.
    pub framework: Framework,
    /// The scope path with the op's own name at its end.
    pub path: &'a str,
    /// The op's type; empty where it has none.
    pub kind: &'a str,
}

impl<'a> FrameworkOp<'a> {
    /// Takes a name apart. What stands before the first colon is the path, behind it the type; where the type is left out,
    /// the path's last part without a number at its end stands for it.
    #[must_use]
    pub fn parse(full: &'a str) -> Self {
        let unknown = Self { framework: Framework::Unknown, path: full, kind: "" };
        let Some((path, kind)) = full.split_once(':') else {
            let copies = ["MemcpyHToD", "MemcpyDToH", "MemcpyDToD", "MemcpyHToH"];
            let is =
                |copy: &&&str| full.get(..copy.len()).is_some_and(|start| start.eq_ignore_ascii_case(copy));
            let copy = copies.iter().find(is);
            return copy.map_or(unknown, |kind| Self { framework: Framework::Copy, path: full, kind });
        };
        if path == "Iterator" {
            return Self { framework: Framework::TfData, kind: "Dataset", ..unknown };
        }
        if is_tensorflow_path(path) && is_tensorflow_type(kind) {
            return Self { framework: Framework::TensorFlow, path, kind };
        }
        let derived = if kind.is_empty() { type_of_path(path) } else { kind };
        if is_jax_type(derived) {
            let kind = derived.split('[').next().unwrap_or_default();
            return Self { framework: Framework::Jax, path, kind };
        }
        if kind.is_empty() {
            return Self { framework: Framework::TensorFlow, path, kind: derived };
        }
        unknown
    }

    /// The scopes around the op, outermost first.
    pub fn scopes(&self) -> impl Iterator<Item = &'a str> {
        let outer = self.path.rfind('/').map(|end| &self.path[..end]);
        outer.into_iter().flat_map(|scopes| scopes.split('/'))
    }

    /// Under which name a timeline shows the op: its type, or `Iterator::` and the last stage.
    #[must_use]
    pub fn label(&self) -> std::borrow::Cow<'a, str> {
        match self.framework {
            Framework::Unknown => self.path.trim_end_matches(|c: char| c.is_ascii_whitespace()).into(),
            Framework::TfData => {
                format!("Iterator::{}", self.path.rsplit("::").next().unwrap_or_default()).into()
            }
            _ => self.kind.into(),
        }
    }
}

/// Letters, digits and `_./>-`, the first a letter, a digit or a full stop.
pub fn is_tensorflow_path(path: &str) -> bool {
    let mut bytes = path.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'.')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b"_./>-".contains(&b))
}

/// `MatMul`, `_Retval`.
pub fn is_tensorflow_type(kind: &str) -> bool {
    let mut bytes = kind.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_uppercase() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// `dot_general`, `transpose[permutation=(1, 0)]`: lower case, with anything in square brackets behind it.
pub fn is_jax_type(kind: &str) -> bool {
    let (word, rest) = kind.split_at(kind.find('[').unwrap_or(kind.len()));
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b == b'_')
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && (rest.is_empty() || rest.ends_with(']') && !rest.contains('\n'))
}

/// The last part of a path without `_7` at its end.
fn type_of_path(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let suffix = name.rsplit('_').next().unwrap_or_default();
    match suffix.trim().parse::<i64>() {
        Ok(_) => &name[..name.len().saturating_sub(suffix.len() + 1)],
        Err(_) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(full: &str) -> (Framework, &str, &str) {
        let op = FrameworkOp::parse(full);
        (op.framework, op.path, op.kind)
    }

    #[test]
    fn names_of_every_framework_are_taken_apart() {
        assert_eq!(parts("scope/MatMul_1:MatMul"), (Framework::TensorFlow, "scope/MatMul_1", "MatMul"));
        assert_eq!(parts("tf/Op_2:"), (Framework::TensorFlow, "tf/Op_2", "Op"));
        assert_eq!(parts("jit(f)/dot_general:"), (Framework::Jax, "jit(f)/dot_general", "dot_general"));
        assert_eq!(parts("a/b:transpose[permutation=(0, 1)]"), (Framework::Jax, "a/b", "transpose"));
        assert_eq!(parts("Iterator::Batch::Map").0, Framework::TfData);
        assert_eq!(parts("MEMCPYHtoD"), (Framework::Copy, "MEMCPYHtoD", "MemcpyHToD"));
        assert_eq!(parts("a b:C d"), (Framework::Unknown, "a b:C d", ""));
        assert_eq!(parts("a\\b:MatMul").0, Framework::Unknown);
    }

    #[test]
    fn scopes_leave_the_op_out() {
        let scopes = |full| FrameworkOp::parse(full).scopes().collect::<Vec<_>>();
        assert_eq!(scopes("a/b/Add:Add"), ["a", "b"]);
        assert_eq!(scopes("Add:Add"), [""; 0]);
        assert_eq!(FrameworkOp::parse("Iterator::Batch::Map").label(), "Iterator::Map");
        assert_eq!(FrameworkOp::parse("RunGraph  ").label(), "RunGraph");
    }
}

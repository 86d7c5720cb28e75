//! The parts of asynchronous operations: which op begins one, goes on with it, ends it, and which belong together.

use rustc_hash::FxHashMap;

use super::op_meta::{MetaIds, OpMeta};
use haloscope_profile::{MetaIdx, Plane, Profile};

/// What an op is to an asynchronous operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// The place in which it leaves itself open: it is a start or an update.
    pub opens: Option<usize>,
    /// The place of the op that it waits for or goes on with.
    pub closes: Option<usize>,
    /// It is a done or an update: it should close something.
    pub ends: bool,
}

/// The parts of a plane's asynchronous operations.
#[derive(Debug, Default)]
pub struct Parts {
    /// By event metadata, or by the place among those asked for.
    pub of_meta: Vec<Part>,
    /// Number of places.
    pub places: usize,
}

impl Parts {
    /// Finds what belongs together: a done (or an update) goes with the op that it names as an operand, or else with the
    /// one that has its name (`copy-start.3`, `copy-done.3`).
    #[must_use]
    pub fn of(profile: &Profile, plane: &Plane) -> Self {
        let (source, ids) = (profile.source_of(plane), MetaIds::of(plane));
        let read = |meta| (meta as usize, OpMeta::read(plane, source, meta, &ids));
        let is_any =
            |(_, op): &(usize, OpMeta<'_>)| ["-start", "-update", "-done"].iter().any(|end| is_part(op, end));
        let ops: Vec<_> = (0..plane.metas.len() as MetaIdx).map(read).filter(is_any).collect();
        Self::among(plane.metas.len(), ops.iter().map(|(meta, op)| (*meta, op)))
    }

    /// The same for `ops`, each with its place among `count`. Several of them may stand for one op.
    #[must_use]
    pub fn among<'o>(count: usize, ops: impl Iterator<Item = (usize, &'o OpMeta<'o>)> + Clone) -> Self {
        let mut places: FxHashMap<(Option<u64>, &str), usize> = FxHashMap::default();
        let mut of_meta = vec![Part::default(); count];
        for (index, op) in ops.clone() {
            let part = &mut of_meta[index];
            part.ends = is_part(op, "-done") || is_part(op, "-update");
            if is_part(op, "-start") || is_part(op, "-update") {
                let next = places.len();
                part.opens = Some(*places.entry((op.program_id, &op.name)).or_insert(next));
            }
        }
        for (index, op) in ops {
            if of_meta[index].ends {
                let place = |name: &str| places.get(&(op.program_id, name)).copied();
                let named = operands(&op.expression).find_map(place);
                of_meta[index].closes = named.or_else(|| place(&op.name.replacen("-done", "-start", 1)));
            }
        }
        Self { of_meta, places: places.len() }
    }
}

/// True for an op that is this part (`-start`, `-update`, `-done`) of an asynchronous operation.
fn is_part(op: &OpMeta<'_>, part: &str) -> bool {
    let stem = op.name.split('.').next().unwrap_or_default();
    op.category.ends_with(part) || (stem.starts_with("async-collective") && stem.ends_with(part))
}

/// The names of instructions that an expression mentions behind its own.
fn operands(expression: &str) -> impl Iterator<Item = &str> {
    let inside = expression.split_once(" = ").map_or("", |(_, rest)| rest);
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    inside
        .split('%')
        .skip(1)
        .filter_map(move |text| text.split(is_end).next())
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_those_behind_the_equals_sign() {
        let text =
            "%copy-done.1 = f32[8]{0} copy-done((f32[8]{0}, u32[]{:S(2)}) %copy-start.1), calls=%body_2";
        assert_eq!(operands(text).collect::<Vec<_>>(), ["copy-start.1", "body_2"]);
        assert_eq!(operands("copy-done").count(), 0);
    }
}

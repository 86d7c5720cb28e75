//! Files of a TPU compiler's last stage (`--xla_jf_dump_to`): which op and which stage each is of.
//!
//! They are named `<number>-<op>-<number>-<stage>`: the first number is that of the compilation, the second counts what was written
//! of the op. Copies that were renamed keep op and stage: `<op>.<stage>`.

use std::path::Path;

use crate::Dumped;

/// The stage of which the message itself is kept.
pub(crate) const MODULE: &str = Dumped::MODULE;

/// Ending of the message, without `.gz`.
const PROTO: &str = "llo_module.pb";

/// Ending of texts.
const TEXT: &str = ".txt";

/// What the name of a file says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    /// The HLO instruction.
    pub(crate) op: String,
    /// Number of its compilation, where the name has one.
    pub(crate) compilation: Option<u64>,
    /// Its place among the files of the op, where the name has one.
    pub(crate) place: Option<u64>,
    /// The stage.
    pub(crate) stage: String,
}

impl Name {
    /// Reads a file's name; `None` for a file that is no dump's, or of a stage that nobody asks for.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        if let Some(rest) = name.strip_suffix(PROTO) {
            let stem = if rest.is_empty() { rest } else { rest.strip_suffix(['-', '.'])? };
            let (op, compilation, place) = numbered(stem);
            return Some(Self { op, compilation, place, stage: MODULE.to_owned() });
        }
        let name = name.strip_suffix(TEXT)?;
        // The number before the stage is the last part that is one: stages have none, ops may.
        let parts: Vec<(usize, &str)> = name.match_indices('-').collect();
        for pair in parts.windows(2).rev() {
            let [(from, _), (to, _)] = pair else { continue };
            if let (Ok(place), stage) = (name[from + 1..*to].parse(), &name[to + 1..])
                && let Some((compilation, op)) = first_number(&name[..*from])
                && is_told(stage)
            {
                let op = op.to_owned();
                return Some(Self {
                    op,
                    compilation: Some(compilation),
                    place: Some(place),
                    stage: stage.to_owned(),
                });
            }
        }
        // A stage has no points, an op may.
        let (op, stage) = name.rsplit_once('.')?;
        (!op.is_empty() && is_told(stage)).then(|| Self {
            op: op.to_owned(),
            compilation: None,
            place: None,
            stage: stage.to_owned(),
        })
    }
}

/// `<number>-<op>-<number>` in its parts; of another name all of it. The message says itself whose it is.
fn numbered(name: &str) -> (String, Option<u64>, Option<u64>) {
    let parts = name.rsplit_once('-').and_then(|(rest, place)| {
        let (compilation, op) = first_number(rest)?;
        Some((op.to_owned(), Some(compilation), Some(place.parse().ok()?)))
    });
    parts.unwrap_or_else(|| (name.to_owned(), None, None))
}

fn first_number(name: &str) -> Option<(u64, &str)> {
    let (number, op) = name.split_once('-')?;
    Some((number.parse().ok()?, op)).filter(|(_, op)| !op.is_empty())
}

/// Whether a stage is one of those that are read: schedules with what they use, and the instructions that they were made of.
fn is_told(stage: &str) -> bool {
    stage.starts_with("schedule-analysis_")
        || stage.ends_with("hlo-static-per-bundle-utilization")
        || stage.starts_with("packed-bundles")
        || ["original", "post-ra", "final_bundles"].contains(&stage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_dump_and_of_renamed_copies() {
        let of = |name: &str| {
            Name::of(Path::new(name)).map(|name| (name.op, name.compilation, name.place, name.stage))
        };
        let is = |op: &str, compilation: Option<u64>, place: Option<u64>, stage: &str| {
            Some((op.to_owned(), compilation, place, stage.to_owned()))
        };
        for (name, expected) in [
            ("17-mm.1-63-llo_module.pb", is("mm.1", Some(17), Some(63), MODULE)),
            ("17-custom-call-2-63-llo_module.pb.gz", is("custom-call-2", Some(17), Some(63), MODULE)),
            ("mm.1-llo_module.pb", is("mm.1", None, None, MODULE)),
            ("mm.1.llo_module.pb.gz", is("mm.1", None, None, MODULE)),
            ("llo_module.pb", is("", None, None, MODULE)),
            ("17-mm.1-02-original.txt", is("mm.1", Some(17), Some(2), "original")),
            (
                "17-custom-call-2-70-packed-bundles-post-ra.txt.gz",
                is("custom-call-2", Some(17), Some(70), "packed-bundles-post-ra"),
            ),
            (
                "mm.1.schedule-analysis_packed-bundles-post-ra.txt.gz",
                is("mm.1", None, None, "schedule-analysis_packed-bundles-post-ra"),
            ),
            (
                "17-copy-9-pre-delay_hlo-static-per-bundle-utilization.txt",
                is("copy", Some(17), Some(9), "pre-delay_hlo-static-per-bundle-utilization"),
            ),
            // Other stages, other dumps, other files.
            ("17-mm.1-03-after-cse.txt", None),
            ("module_0001.jit_f.cl_1.after_optimizations.txt", None),
            ("post-ra.txt", None),
            ("-original.txt", None),
            ("notes.txt", None),
            ("some_llo_module.pb", None),
        ] {
            assert_eq!(of(name), expected, "{name}");
        }
    }
}

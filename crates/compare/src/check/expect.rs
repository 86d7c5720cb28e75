//! What somebody predicts to be in the program: that it was compiled, and that it ran.
//!
//! A change that silently does nothing leaves a profile that looks like noise. A pattern that names the kernel, fusion or custom
//! call that the change was to bring must be found in the compiled module and among the ops that ran.

use std::collections::BTreeSet;

use haloscope_hlo::{Instruction, Opcode};
use regex::{Regex, RegexBuilder};

use super::device_time;
use super::metric::Source;
use super::outcome::{Judged, Outcome};
use haloscope_report::Error;
use haloscope_report::{Table, row};
use haloscope_time::executions::{Executions, Place};
use haloscope_time::kernel_times;
use haloscope_time::ops::{self, Op};
use haloscope_time::programs;

/// Patterns that compile to more than this are refused.
const LARGEST: usize = 1 << 20;
/// So many near misses are named.
const NEAR: usize = 3;
/// Names are near that share this part of their pairs of letters.
const ALIKE: f64 = 0.4;

/// Reads a pattern.
///
/// # Errors
/// [`Error::Usage`] with what the parser says.
pub(super) fn pattern(option: &str, text: &str) -> Result<Regex, Error> {
    RegexBuilder::new(text)
        .size_limit(LARGEST)
        .build()
        .map_err(|why| Error::Usage(format!("--{option} `{text}` is not a regular expression: {why}")))
}

/// The table of expectations.
pub(super) fn table(expected: &[(Judged, Found)]) -> Table {
    let row = |(judged, found): &(Judged, Found)| {
        let has_ops = found.has_ops;
        row![
            text("expected", "Expected", "The pattern.", found.pattern.as_str()),
            text("verdict", "Verdict", "`pass`, `fail`, or `unknown`.", judged.outcome.word()),
            count(
                "compiled",
                "Compiled",
                "Instructions of the compiled modules that match; unknown if the profile has no modules.",
                found.compiled
            ),
            count(
                "ran",
                "Ran",
                "Different ops that ran and match, or contain a matching instruction.",
                has_ops.then_some(found.ran)
            ),
            count(
                "executions",
                "Executions",
                "Their executions, all devices together.",
                has_ops.then_some(found.executions)
            ),
            duration(
                "time_ps",
                "Time",
                "Their own time, summed over executions and devices.",
                has_ops.then_some(found.time_ps)
            ),
            text(
                "found",
                "First",
                "The first match: by time, else in the module's order.",
                found.first.clone()
            ),
            prose("why", "Why", "What decided; if nothing matches, what is similar.", judged.why.as_str()),
        ]
    };
    Table::of("expected", "What was expected in the program", expected.iter().map(row))
}

/// What a run holds for a pattern.
#[derive(Debug, Default)]
pub(super) struct Found {
    pattern: String,
    /// Whether the run has ops at all; else nobody knows what ran.
    has_ops: bool,
    /// `None` where the profile holds no module.
    compiled: Option<usize>,
    ran: usize,
    executions: u64,
    time_ps: i64,
    first: Option<String>,
}

/// Looks for each pattern, with `;` between them.
///
/// # Errors
/// [`Error::Usage`] for a text that is no pattern.
pub(super) fn judge(
    texts: &str,
    run: &Source<'_>,
    allow_unknown: bool,
) -> Result<Vec<(Judged, Found)>, Error> {
    let patterns = texts.split(';').map(str::trim).filter(|text| !text.is_empty());
    let patterns: Vec<Regex> = patterns.map(|text| pattern("expect", text)).collect::<Result<_, _>>()?;
    if patterns.is_empty() {
        return Ok(Vec::new());
    }
    let selection = run.asked.selection().ok();
    let ops = selection.map(|selection| ops::collect(run.profile, selection)).unwrap_or_default();
    let modules = programs::in_scope(run.profile, run.scope).unwrap_or_default();
    let kernels = selection.map(|s| kernel_times::collect(run.profile, s).0).unwrap_or_default();
    let names = Names::of(&ops, &modules, kernels.iter().map(|k| &*k.name));
    let judge = |pattern: &Regex| {
        let mut found = look(pattern, &ops, &modules);
        if found.ran == 0 {
            // A GPU's kernels have names of their own.
            for kernel in kernels.iter().filter(|k| pattern.is_match(&k.name)) {
                found.ran += 1;
                found.executions += kernel.occurrences;
                found.time_ps = found.time_ps.saturating_add(kernel.total_ps);
                found.first.get_or_insert_with(|| kernel.name.clone().into_owned());
            }
        }
        let (outcome, why) = verdict(&found, !ops.is_empty(), || names.near(pattern.as_str()));
        found.pattern = pattern.as_str().to_owned();
        found.has_ops = !ops.is_empty();
        let judged = Judged {
            what: format!("expected {}", pattern.as_str()),
            outcome,
            may_be_unknown: allow_unknown,
            against_baseline: false,
            why,
            speedup: None,
            seen_in: "ops",
        };
        (judged, found)
    };
    Ok(patterns.iter().map(judge).collect())
}

fn verdict(found: &Found, has_ops: bool, near: impl Fn() -> Vec<String>) -> (Outcome, String) {
    let misses = || {
        let near = near();
        if near.is_empty() { "nothing similar".to_owned() } else { format!("similar: {}", near.join(", ")) }
    };
    match (found.compiled, found.ran) {
        (Some(0), 0) => (Outcome::Fail, format!("it is not in the compiled module; {}", misses())),
        (None, 0) => {
            (Outcome::Fail, format!("no op that ran matches, and the profile has no module; {}", misses()))
        }
        (Some(_), 0) if !has_ops => {
            (Outcome::Unknown, "it was compiled; whether it ran is unknown: this run has no ops".into())
        }
        (Some(compiled), 0) => (
            Outcome::Fail,
            format!("it was compiled ({}), but did not run in this scope", counted(compiled, "instruction")),
        ),
        (Some(compiled), ran) if compiled > 0 => (
            Outcome::Pass,
            format!("{} compiled; {}", counted(compiled, "instruction"), times(ran, found.executions)),
        ),
        (_, ran) => (Outcome::Pass, times(ran, found.executions)),
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn times(ran: usize, executions: u64) -> String {
    format!("{} ran, {executions}x in all", counted(ran, "op"))
}

/// What an instruction may be known by.
fn words_of(instruction: &Instruction) -> impl Iterator<Item = &str> {
    let attributes = instruction.attributes();
    [
        Some(instruction.name.as_str()),
        Some(instruction.opcode_name()),
        instruction.op_name(),
        attributes.custom_call_target.as_deref(),
        attributes.frontend_attributes.get("kernel_metadata").map(String::as_str),
    ]
    .into_iter()
    .flatten()
}

fn look(pattern: &Regex, ops: &[Op<'_>], modules: &[programs::Program<'_>]) -> Found {
    let mut found = Found { compiled: (!modules.is_empty()).then_some(0), ..Found::default() };
    // Ops that hold a match, by their place in `ops`.
    let mut ran: BTreeSet<usize> =
        (0..ops.len()).filter(|at| device_time::names(pattern, &ops[*at].meta)).collect();
    let mut seen = BTreeSet::new();
    for program in modules {
        let module = &program.decoded.module;
        // Each host has its own copy of a program.
        if !seen.insert((program.label(), module.instructions().len())) {
            continue;
        }
        let executions = Executions::new(module);
        for (index, instruction) in module.instructions() {
            let is_work = !matches!(
                instruction.opcode,
                Opcode::Parameter | Opcode::Constant | Opcode::GetTupleElement | Opcode::Tuple
            );
            let place = executions.place(instruction.computation);
            if !is_work
                || place == Place::Unreached
                || !words_of(instruction).any(|word| pattern.is_match(word))
            {
                continue;
            }
            found.compiled = found.compiled.map(|count| count + 1);
            found.first.get_or_insert_with(|| instruction.name.clone());
            let outer = &module.instruction(executions.outermost(module, index)).name;
            let is_it = |op: &Op<'_>| {
                op.meta.name == outer.as_str()
                    && programs::is_of(program.entry, op.meta.program_id, &op.module)
            };
            ran.extend(ops.iter().position(is_it));
        }
    }
    let ran: Vec<&Op<'_>> = ran.into_iter().map(|at| &ops[at]).filter(|op| op.occurrences > 0).collect();
    found.ran = ran.len();
    found.executions = ran.iter().map(|op| op.occurrences).sum();
    found.time_ps = haloscope_report::units::sum(ran.iter().map(|op| op.self_ps));
    if let Some(first) = ran.first() {
        found.first = Some(first.meta.name.clone().into_owned());
    }
    found
}

/// The names that a run knows, to find near misses in.
struct Names(Vec<String>);

impl Names {
    fn of<'n>(
        ops: &[Op<'_>],
        modules: &[programs::Program<'_>],
        kernels: impl Iterator<Item = &'n str>,
    ) -> Self {
        let mut names: BTreeSet<String> = ops.iter().map(|op| stem(&op.meta.name)).collect();
        names.extend(kernels.map(str::to_owned));
        for program in modules {
            for (_, instruction) in program.decoded.module.instructions() {
                let target = instruction.attributes().custom_call_target.as_deref();
                names.extend(target.map(str::to_owned));
                let last = instruction.op_name().and_then(|path| path.rsplit('/').next());
                names.extend(last.map(str::to_owned));
                names.insert(stem(&instruction.name));
            }
        }
        Self(names.into_iter().collect())
    }

    /// Those most alike to what a pattern says, the nearest first.
    fn near(&self, pattern: &str) -> Vec<String> {
        let literal = letters(pattern);
        let mut alike: Vec<(f64, &String)> = self
            .0
            .iter()
            .map(|name| (likeness(&literal, &letters(name)), name))
            .filter(|(l, _)| *l >= ALIKE)
            .collect();
        alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        alike.into_iter().take(NEAR).map(|(_, name)| name.clone()).collect()
    }
}

/// A name without the numbers and `clone`s behind it: `fusion.123` and `fusion.98` are one.
fn stem(name: &str) -> String {
    let is_tail =
        |tail: &str| tail == "clone" || !tail.is_empty() && tail.bytes().all(|b| b.is_ascii_digit());
    let mut stem = name;
    while let Some((rest, _)) = stem.rsplit_once('.').filter(|(rest, tail)| !rest.is_empty() && is_tail(tail))
    {
        stem = rest;
    }
    stem.to_owned()
}

/// The letters and digits of a text, small.
fn letters(text: &str) -> Vec<char> {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Dice's coefficient of pairs of neighbours: 1 for the same, 0 for nothing in common.
fn likeness(a: &[char], b: &[char]) -> f64 {
    let pairs = |text: &[char]| {
        let mut pairs: Vec<(char, char)> = text.windows(2).map(|w| (w[0], w[1])).collect();
        pairs.sort_unstable();
        pairs
    };
    let (a, b) = (pairs(a), pairs(b));
    let (mut i, mut j, mut both) = (0, 0, 0_usize);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.cmp(y) {
            std::cmp::Ordering::Equal => (i, j, both) = (i + 1, j + 1, both + 1),
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
        }
    }
    if a.is_empty() || b.is_empty() { 0.0 } else { 2.0 * both as f64 / (a.len() + b.len()) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_the_names_most_alike() {
        let names = ["flash_attention_kernel", "fusion", "rope_fusion", "all-gather", "tpu_custom_call"];
        let names = Names(names.iter().map(|n| (*n).to_owned()).collect());
        assert_eq!(names.near("^FlashAttention.*$"), ["flash_attention_kernel"]);
        assert_eq!(names.near("rope-fusion")[0], "rope_fusion");
        assert!(names.near("xyz").is_empty());
        assert_eq!(stem("fusion.123"), "fusion");
        assert_eq!(stem("copy.7.clone.1"), "copy");
        assert_eq!(stem("a.b"), "a.b");
    }

    #[test]
    fn compiled_and_ran_are_two_questions() {
        let found = |compiled, ran| Found { compiled, ran, executions: 3, ..Found::default() };
        let judge = |f: Found, has_ops| verdict(&f, has_ops, Vec::new).0;
        assert_eq!(judge(found(Some(2), 1), true), Outcome::Pass);
        assert_eq!(judge(found(Some(2), 0), true), Outcome::Fail);
        assert_eq!(judge(found(Some(0), 0), true), Outcome::Fail);
        assert_eq!(judge(found(None, 0), true), Outcome::Fail);
        assert_eq!(judge(found(None, 1), true), Outcome::Pass);
        // A compiled program alone says nothing of what ran.
        assert_eq!(judge(found(Some(2), 0), false), Outcome::Unknown);
    }

    #[test]
    fn a_text_that_is_no_pattern_is_an_error() {
        assert!(pattern("expect", "(").unwrap_err().to_string().contains("--expect `(`"));
        assert!(pattern("expect", "x{1000}{1000}{1000}").is_err());
    }
}

//! What a dump's texts say of an op's way through the last stage of the compiler: how long its schedule was before and after
//! registers were given out, and what spills cost.

use std::borrow::Cow;
use std::collections::BTreeMap;

use haloscope_llo::{Head, Module};
use haloscope_profile::{Dumped, Profile, Source};

use crate::carried::room;

/// The schedule before empty bundles become delays, with registers: the one that an op's LLO has.
pub const AFTER_REGISTERS: &str = "packed-bundles-post-ra";
/// The same instructions packed as if spills and fills took no slots.
pub const WITHOUT_SPILLS: &str = "packed-bundles-no-spills-fills";
/// Scheduled with as many registers as wanted.
pub const BEFORE_REGISTERS: &str = "packed-bundles-pre-ra";
/// The code: empty bundles have become delays.
pub const FINAL: &str = "final_bundles";

/// The stages that are known, in the order of the compilation, and what each is.
const KNOWN: [(&str, &str); 7] = [
    ("original", "as Mosaic or the emitter of fusions made it"),
    (BEFORE_REGISTERS, "scheduled with unlimited registers"),
    ("post-ra", "after register allocation: with spills and fills, before bundles"),
    ("packed-bundles-no-ra-deps", "packed as if reusing a register caused no waits"),
    (WITHOUT_SPILLS, "packed as if spills and fills took no slots"),
    (AFTER_REGISTERS, "packed as it runs; what the LLO of a profile has"),
    (FINAL, "the code, in which empty bundles are delays"),
];

/// What files say of one stage of an op.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stage {
    /// Its name, as the files have it.
    pub name: String,
    /// Bundles of one pass.
    pub bundles: Option<u64>,
    /// Of these the ones that hold no instruction.
    pub empty: Option<u64>,
    /// Instructions.
    pub instructions: Option<u64>,
    /// Vectors stored for want of a register.
    pub spills: Option<u64>,
    /// Vectors loaded again.
    pub fills: Option<u64>,
}

impl Stage {
    /// What the stage is; `None` for one that is not known.
    #[must_use]
    pub fn meaning(&self) -> Option<&'static str> {
        KNOWN.iter().find(|(name, _)| *name == self.name).map(|(_, meaning)| *meaning)
    }

    /// Where it stands in the compilation; what is not known stands last.
    fn order(&self) -> usize {
        KNOWN.iter().position(|(name, _)| *name == self.name).unwrap_or(KNOWN.len())
    }
}

/// The stages of one op, in the order of the compilation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stages {
    /// `module(number)::op` where the op's LLO is there and says so, else the HLO instruction.
    pub name: String,
    /// The HLO instruction.
    pub op: String,
    /// A stage each.
    pub all: Vec<Stage>,
}

impl Stages {
    /// One stage.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.all.iter().find(|stage| stage.name == name)
    }

    /// Bundles of a stage.
    #[must_use]
    pub fn bundles(&self, name: &str) -> Option<u64> {
        self.stage(name)?.bundles
    }

    /// Bundles of one pass that spills and fills add: the schedule with registers less that without spills and fills. Negative where
    /// the packer was luckier with them. `None` where a dump does not have both.
    #[must_use]
    pub fn spill_cost(&self) -> Option<i64> {
        let bundles = |name| self.bundles(name).and_then(|n| i64::try_from(n).ok());
        Some(bundles(AFTER_REGISTERS)? - bundles(WITHOUT_SPILLS)?)
    }
}

/// The ops of a dump, in the order of their names; of an op that was compiled several times the last.
#[must_use]
pub fn all(profile: &Profile) -> Vec<Stages> {
    let mut compiled: BTreeMap<(&str, Option<u64>), Vec<&Dumped>> = BTreeMap::new();
    for dumped in &profile.dumped {
        compiled.entry((&dumped.op, dumped.compilation)).or_default().push(dumped);
    }
    // Compilations come in their order: a later one takes an earlier one's place.
    let mut last: BTreeMap<String, Stages> = BTreeMap::new();
    for ((op, _), files) in compiled {
        let stages = of_files(profile, op, &files);
        last.insert(stages.name.clone(), stages);
    }
    last.into_values().collect()
}

/// The stages of one op's compilation; `None` for one that the run has no dump of.
#[must_use]
pub fn of(profile: &Profile, op: &str, compilation: Option<u64>) -> Option<Stages> {
    let is_own = |dumped: &&Dumped| dumped.op == op && dumped.compilation == compilation;
    let files: Vec<&Dumped> = profile.dumped.iter().filter(is_own).collect();
    (!files.is_empty()).then(|| of_files(profile, op, &files))
}

/// What the LLO among an op's files says that it is called.
fn name(profile: &Profile, files: &[&Dumped]) -> Option<String> {
    let file = files.iter().find(|file| file.stage == Dumped::MODULE)?;
    let head = Head::of(profile.sources.get(file.source)?.bytes())?;
    Some(format!("{}({})::{}", head.module_name, head.module_id, head.op))
}

fn of_files(profile: &Profile, op: &str, files: &[&Dumped]) -> Stages {
    let mut found: BTreeMap<&str, Stage> = BTreeMap::new();
    // A text that was written for the purpose counts before what is counted here.
    let mut ranks: BTreeMap<(&str, &'static str), u8> = BTreeMap::new();
    for file in files {
        let Some(source) = profile.sources.get(file.source) else { continue };
        let Some((name, rank, told)) = read(&file.stage, source) else { continue };
        let stage = found.entry(name).or_insert_with(|| Stage { name: name.to_owned(), ..Stage::default() });
        let mut take = |what: &'static str, slot: &mut Option<u64>, number: Option<u64>| {
            let before = ranks.get(&(name, what));
            if number.is_some() && before.is_none_or(|before| *before <= rank) {
                ranks.insert((name, what), rank);
                *slot = number;
            }
        };
        take("bundles", &mut stage.bundles, told.bundles);
        take("empty", &mut stage.empty, told.empty);
        take("instructions", &mut stage.instructions, told.instructions);
        take("spills", &mut stage.spills, told.spills);
        take("fills", &mut stage.fills, told.fills);
    }
    let mut all: Vec<Stage> = found.into_values().collect();
    all.sort_by_key(Stage::order);
    Stages { name: name(profile, files).unwrap_or_else(|| op.to_owned()), op: op.to_owned(), all }
}

/// What a file says: of which stage, how much it is worth against other files of the same, and the numbers.
fn read<'f>(file: &'f str, source: &Source) -> Option<(&'f str, u8, Stage)> {
    const ANALYSIS: &str = "schedule-analysis_";
    const UTILIZATION: &str = "_hlo-static-per-bundle-utilization";
    if file == Dumped::MODULE {
        let room = room(source, source.bytes());
        let module = Module::read_within(source.bytes(), room.counted, room.beside, room.most).ok()?;
        return Some((AFTER_REGISTERS, 1, of_module(&module)));
    }
    let text = String::from_utf8_lossy(source.bytes());
    if let Some(stage) = file.strip_prefix(ANALYSIS) {
        return Some((stage, 3, analysis(&text)?));
    }
    if let Some(stage) = file.strip_suffix(UTILIZATION) {
        let stage = match stage {
            "pre-delay" => AFTER_REGISTERS,
            "final" => FINAL,
            other => other,
        };
        return Some((stage, 2, utilization(&text)?));
    }
    Some((file, 1, instructions(&text)))
}

fn of_module(module: &Module<'_>) -> Stage {
    let sum = |list: &[u32]| list.iter().map(|n| u64::from(*n)).sum();
    Stage {
        bundles: Some(module.bundles() as u64),
        instructions: Some(module.instructions.len() as u64),
        spills: Some(sum(&module.utilization.spills)),
        fills: Some(sum(&module.utilization.fills)),
        ..Stage::default()
    }
}

/// A schedule analysis: `total scheduled bundles:    756`. `None` for another text.
pub(crate) fn analysis(text: &str) -> Option<Stage> {
    let number = |words: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(words))?;
        line.trim().parse().ok()
    };
    let bundles = number("total scheduled bundles:")?;
    Some(Stage { bundles: Some(bundles), empty: number("empty scheduled bundles:"), ..Stage::default() })
}

/// A table of what each bundle uses: names of units, capacities, and a row a bundle. `None` for another text.
fn utilization(text: &str) -> Option<Stage> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.find(|line| line.contains(','))?.split(',').map(str::trim).collect();
    lines.find(|line| line.contains("UTILIZATION"))?;
    let place = |name: &str| names.iter().position(|own| *own == name);
    let (spill, fill) = (place("VSTORE:SPILL"), place("VLOAD:FILL"));
    let mut stage = Stage { bundles: Some(0), ..Stage::default() };
    (stage.spills, stage.fills) = (spill.map(|_| 0), fill.map(|_| 0));
    for line in lines {
        let row: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        if row.is_empty() {
            continue;
        }
        let add = |sum: &mut Option<u64>, at: Option<usize>| {
            let more = at.and_then(|at| row.get(at)).copied();
            *sum = sum.zip(more).map(|(sum, more)| sum.saturating_add(more));
        };
        stage.bundles = stage.bundles.map(|count| count + 1);
        add(&mut stage.spills, spill);
        add(&mut stage.fills, fill);
    }
    Some(stage)
}

/// Instructions in words, in bundles or one a line.
fn instructions(text: &str) -> Stage {
    let (mut bundles, mut empty, mut all, mut spills, mut fills) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    for line in text.lines() {
        let body = match bundle(line) {
            Some(body) => {
                bundles += 1;
                empty += u64::from(body.starts_with('}'));
                Cow::Borrowed(body)
            }
            None => Cow::Borrowed(line),
        };
        for part in body.split(";;") {
            let part = part.trim_start();
            let Some((_, does)) = part.strip_prefix('%').and_then(|part| part.split_once(" = ")) else {
                continue;
            };
            all += 1;
            let is_of_spills = does
                .split("[#allocation")
                .skip(1)
                .any(|name| name.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with("_spill"));
            spills += u64::from(is_of_spills && does.starts_with("vst"));
            fills += u64::from(is_of_spills && does.starts_with("vld"));
        }
    }
    let of_bundles = |count| Some(count).filter(|_| bundles > 0);
    Stage {
        name: String::new(),
        bundles: of_bundles(bundles),
        empty: of_bundles(empty),
        instructions: Some(all),
        spills: Some(spills),
        fills: Some(fills),
    }
}

/// What stands in a bundle, where a line begins one: `0x7 LB: > { %s24 = sadd.s32 1, %s7 }`.
fn bundle(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let (number, rest) = line.split_once([' ', ':'])?;
    let digits = if number == "0" { number } else { number.strip_prefix("0x")? };
    let rest = line.get(line.len() - rest.len() - 1..)?;
    let (marks, body) = rest.split_once(':')?;
    let is_mark = |c: char| c.is_ascii_uppercase() || c == ' ' || c == ',';
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
    if !is_number || !marks.chars().all(is_mark) {
        return None;
    }
    body.trim_start_matches([' ', '>']).strip_prefix('{').map(str::trim_start)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use haloscope_profile::DumpedFile;

    use super::*;

    #[test]
    fn the_length_is_read_of_a_schedule_analysis() {
        let text =
            "Schedule analysis:\n\ttotal scheduled bundles:    756\n\tempty scheduled bundles:    13\n";
        let found = analysis(text).unwrap();
        assert_eq!((found.bundles, found.empty, found.spills), (Some(756), Some(13), None));
        assert_eq!(analysis("total scheduled bundles: many"), None);
        assert_eq!(analysis("empty scheduled bundles: 3"), None);
    }

    #[test]
    fn spills_are_summed_over_the_table_of_a_schedule() {
        let text = "== CAPACTIY:\nMATMUL, VLOAD, VLOAD:FILL, VSTORE, VSTORE:SPILL\n 4 3 3 1 1\n== UTILIZATION:\n0 1 1 0 0\n0 0 0 1 1\n0 0 0 0 0\n";
        let found = utilization(text).unwrap();
        assert_eq!((found.bundles, found.spills, found.fills), (Some(3), Some(1), Some(1)));
        // A compiler that names no column for spills says nothing of them.
        let found = utilization("MATMUL, VLOAD\n1 1\n== UTILIZATION:\n0 1\n").unwrap();
        assert_eq!((found.bundles, found.spills), (Some(1), None));
        assert_eq!(utilization("0 1 2\n"), None);
    }

    #[test]
    fn bundles_and_instructions_are_counted_in_words() {
        let text = "\
= control target key start
LB: loop body

     0   :  { %8 = vsyncpa [#allocation5], 0  ;;  %s7_s0 = inlined_call_operand.hbm [shape: bf16[8], index: 0] }
   0x1 LB: > { %9 = vst [vmem:[#allocation9_spill] sm:$0xff] /*vst_source=*/%v1_v2 }
   0x2   : >> {}
   0xa   : > { %10 = shalt.err (!%p6) /* a note
hlo: copy ;; of = two lines
 */ }
   0xb PB: > { %v3_v4 = vld [vmem:[#allocation9_spill] sm:$0xff]  ;;  %11 = vst [vmem:[#allocation3] sm:$0xff] %v3_v4 }
";
        let found = instructions(text);
        assert_eq!((found.bundles, found.empty, found.instructions), (Some(5), Some(1), Some(6)));
        assert_eq!((found.spills, found.fills), (Some(1), Some(1)));
        // Before there are bundles, their number is unknown and not 0; a scalar that is stored is no vector.
        let found = instructions(
            "  #allocation9_spill [shape = 'u32[8,128]']\n  %4 = sst [smem:[#allocation9_spill]] %s1\n",
        );
        assert_eq!((found.bundles, found.instructions, found.spills), (None, Some(1), Some(0)));
    }

    fn file(op: &str, compilation: Option<u64>, stage: &str, text: &str) -> DumpedFile {
        DumpedFile {
            path: PathBuf::from(stage),
            bytes: Box::new(text.as_bytes().to_vec()),
            op: op.to_owned(),
            compilation,
            stage: stage.to_owned(),
        }
    }

    #[test]
    fn spills_cost_what_the_schedule_is_longer_with_them() {
        let length = |n: u64| format!("\ttotal scheduled bundles: {n}\n");
        let mut profile = Profile::from_programs("dump", Vec::new());
        profile.add_dumped(vec![
            file("a.1", Some(1), "schedule-analysis_packed-bundles-post-ra", &length(999)),
            file("a.1", Some(2), "schedule-analysis_packed-bundles-no-spills-fills", &length(756)),
            file("a.1", Some(2), "schedule-analysis_packed-bundles-post-ra", &length(888)),
            // Counted, and so worth less than what the compiler says.
            file(
                "a.1",
                Some(2),
                "packed-bundles-post-ra",
                "0x1 : { %1 = vst [vmem:[#allocation3_spill]] %v2 }",
            ),
            file("b", None, "schedule-analysis_final_bundles", &length(10)),
        ]);
        let found = of(&profile, "a.1", Some(2)).unwrap();
        assert_eq!(found.spill_cost(), Some(132));
        assert_eq!(found.bundles(AFTER_REGISTERS), Some(888));
        assert_eq!(found.stage(AFTER_REGISTERS).and_then(|stage| stage.spills), Some(1));
        assert_eq!(all(&profile).first(), Some(&found), "the last compilation counts");
        // One length alone is no cost, and an op without a dump has no stages.
        assert_eq!(of(&profile, "b", None).unwrap().spill_cost(), None);
        assert_eq!(of(&profile, "c", None), None);
        let names: Vec<&str> = found.all.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(names, [WITHOUT_SPILLS, AFTER_REGISTERS]);
    }
}

//! Which program of one run is which of the other.

use std::borrow::Cow;

use haloscope_hlo::Alignment;

use haloscope_profile::Profile;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::programs::{Program, is_of};

/// What matching looks at of an op.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'x, 'p> {
    pub(super) meta: &'x OpMeta<'p>,
    pub(super) module: &'x Cow<'p, str>,
    /// Time in a step, picoseconds.
    pub(super) time_ps: f64,
}

/// A program of one run.
#[derive(Debug, Clone)]
pub struct ProgramSide<'p> {
    /// Its name; empty for ops of which no program is known.
    pub module: Cow<'p, str>,
    /// Its program id, where the profile states it.
    pub program_id: Option<u64>,
    /// Time of its ops in a step, mean over the devices, picoseconds.
    pub time_ps: f64,
    /// Its HLO, where the profile holds it and it can be read.
    pub hlo: Option<Program<'p>>,
}

/// Why two programs were put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramHow {
    /// They compute the same.
    Content,
    /// They have the same name; of several of one name those that take most time.
    Name,
    /// They are the longest of those that are left, and most of their instructions are alike.
    Time,
}

impl ProgramHow {
    /// Its name in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Name => "name",
            Self::Time => "time",
        }
    }
}

/// A program of the baseline and what it is in the experiment; one of both is missing where only one run has it.
#[derive(Debug)]
pub struct ProgramPair<'p> {
    /// In the baseline.
    pub a: Option<ProgramSide<'p>>,
    /// In the experiment.
    pub b: Option<ProgramSide<'p>>,
    /// Why they were put together.
    pub how: Option<ProgramHow>,
    /// Their instructions, aligned, where both have HLO.
    pub alignment: Option<Alignment<'p>>,
}

/// Programs of other names are one program from this share of aligned instructions on, of the smaller one's.
const ALIKE: f64 = 0.5;

/// The programs of two runs, paired: the same content first, then by name, then by time. The longest of the baseline first,
/// then what only the experiment has.
pub(super) fn pair<'p>(
    profiles: [&'p Profile; 2],
    seen: [&[Seen<'_, 'p>]; 2],
) -> (Vec<ProgramPair<'p>>, [Vec<usize>; 2]) {
    let (a, op_in_a) = of_run(profiles[0], seen[0]);
    let (b, op_in_b) = of_run(profiles[1], seen[1]);
    let prints = |sides: &[ProgramSide<'p>]| -> Vec<Option<u64>> {
        sides
            .iter()
            .map(|side| side.hlo.map(|program| program.decoded.module.structural_fingerprint()))
            .collect()
    };
    let (prints_a, prints_b) = (prints(&a), prints(&b));
    let mut left_b: Vec<bool> = vec![true; b.len()];
    let mut found: Vec<Option<(usize, ProgramHow, Option<Alignment<'p>>)>> = a.iter().map(|_| None).collect();
    type Test<'t> = &'t dyn Fn(usize, usize) -> bool;
    let same_name = |x: usize, y: usize| a[x].module == b[y].module;
    let same_content = |x: usize, y: usize| prints_a[x].is_some() && prints_a[x] == prints_b[y];
    let both = |x: usize, y: usize| same_name(x, y) && same_content(x, y);
    let rounds: [(ProgramHow, Test<'_>); 3] =
        [(ProgramHow::Name, &both), (ProgramHow::Name, &same_name), (ProgramHow::Content, &same_content)];
    for (how, is_same) in rounds {
        for x in 0..a.len() {
            if found[x].is_some() {
                continue;
            }
            if let Some(y) = (0..b.len()).find(|y| left_b[*y] && is_same(x, *y)) {
                left_b[y] = false;
                found[x] = Some((y, how, align(&a[x], &b[y])));
            }
        }
    }
    // The longest of the rest, if they have much in common.
    for x in 0..a.len() {
        let Some(y) = (0..b.len()).find(|y| found[x].is_none() && left_b[*y]) else { continue };
        if let Some(alignment) = align(&a[x], &b[y]).filter(|alignment| alike(alignment) >= ALIKE) {
            left_b[y] = false;
            found[x] = Some((y, ProgramHow::Time, Some(alignment)));
        }
    }
    let mut pair_of_b = vec![0; b.len()];
    let mut sides_b: Vec<Option<ProgramSide<'p>>> = b.into_iter().map(Some).collect();
    let mut pairs = Vec::with_capacity(a.len());
    for (side, found) in a.into_iter().zip(found) {
        let (b, how, alignment) = match found {
            Some((y, how, alignment)) => {
                pair_of_b[y] = pairs.len();
                (sides_b[y].take(), Some(how), alignment)
            }
            None => (None, None, None),
        };
        pairs.push(ProgramPair { a: Some(side), b, how, alignment });
    }
    for (y, side) in sides_b.into_iter().enumerate() {
        if side.is_some() {
            pair_of_b[y] = pairs.len();
            pairs.push(ProgramPair { a: None, b: side, how: None, alignment: None });
        }
    }
    (pairs, [op_in_a, op_in_b.into_iter().map(|y| pair_of_b[y]).collect()])
}

/// The programs of a run's ops, longest first, and for each op which of them is its own.
fn of_run<'p>(profile: &'p Profile, seen: &[Seen<'_, 'p>]) -> (Vec<ProgramSide<'p>>, Vec<usize>) {
    let mut sides: Vec<ProgramSide<'p>> = Vec::new();
    let mut place_of_op = Vec::with_capacity(seen.len());
    for op in seen {
        let is_own =
            |side: &ProgramSide<'p>| side.program_id == op.meta.program_id && side.module == *op.module;
        let place = sides.iter().position(is_own).unwrap_or(sides.len());
        if place == sides.len() {
            let hlo = hlo_of(profile, op.meta.program_id, op.module);
            let (module, program_id) = (op.module.clone(), op.meta.program_id);
            sides.push(ProgramSide { module, program_id, time_ps: 0.0, hlo });
        }
        sides[place].time_ps += op.time_ps;
        place_of_op.push(place);
    }
    // Longest first; the order of the ops breaks ties.
    let mut order: Vec<usize> = (0..sides.len()).collect();
    order.sort_by(|x, y| sides[*y].time_ps.total_cmp(&sides[*x].time_ps));
    let mut rank = vec![0; order.len()];
    for (place, old) in order.iter().enumerate() {
        rank[*old] = place;
    }
    let sides = order.iter().map(|old| sides[*old].clone()).collect();
    (sides, place_of_op.into_iter().map(|place| rank[place]).collect())
}

fn hlo_of<'p>(profile: &'p Profile, program_id: Option<u64>, module: &str) -> Option<Program<'p>> {
    let own = profile.modules.iter().filter(|entry| is_of(entry, program_id, module));
    let mut read = own.filter_map(|entry| Some(Program { entry, decoded: entry.decode(profile).ok()? }));
    read.next().filter(|_| program_id.is_some() || !module.is_empty())
}

fn align<'p>(a: &ProgramSide<'p>, b: &ProgramSide<'p>) -> Option<Alignment<'p>> {
    Some(Alignment::new(&a.hlo?.decoded.module, &b.hlo?.decoded.module))
}

/// The share of the smaller module's instructions that are aligned.
fn alike(alignment: &Alignment<'_>) -> f64 {
    let least = alignment.a.instructions().len().min(alignment.b.instructions().len());
    alignment.pairs().count() as f64 / least.max(1) as f64
}

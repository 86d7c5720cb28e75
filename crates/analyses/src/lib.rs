//! The registry: every analysis is one value, in one file, and every door (command line, HTTP, page, agents) is derived from
//! this list.
//!
//! ```no_run
//! use haloscope_profile::load;
//! use haloscope_report::scope::Scope;
//! use haloscope_time::analysis;
//!
//! let profile = load::open(&load::find("logs".as_ref())?)?;
//! let overview = haloscope_analyses::find("overview").expect("registered");
//! let report = analysis::run(overview, &profile, &Scope::default(), &Default::default())?;
//! println!("{}", report.to_json());
//! # Ok::<(), haloscope_report::Error>(())
//! ```

pub mod capture_advice;
pub mod fleet;
pub mod inspect;
pub mod ledger;
pub mod pace;
pub mod part;
pub mod python;
pub mod selfcheck;

use haloscope_compare::check;
use haloscope_time::analysis::{Analysis, Run};

/// All analyses, in the order in which a person would ask.
pub static ALL: &[&Analysis] = &[
    &haloscope_time::overview::ANALYSIS,
    &haloscope_diagnose::ANALYSIS,
    &haloscope_compare::analysis::ANALYSIS,
    &CHECK,
    &haloscope_time::idle::ANALYSIS,
    &haloscope_time::steps::analysis::ANALYSIS,
    &haloscope_comm::hosts::ANALYSIS,
    &haloscope_comm::analysis::ANALYSIS,
    &haloscope_time::input::analysis::ANALYSIS,
    &haloscope_time::ops::analysis::ANALYSIS,
    &haloscope_time::op_profile::ANALYSIS,
    &haloscope_program::compute::ANALYSIS,
    &haloscope_program::compute::mfu::ANALYSIS,
    &haloscope_time::roofline::analysis::ANALYSIS,
    &haloscope_program::source::ANALYSIS,
    &haloscope_time::kernels::analysis::ANALYSIS,
    &haloscope_kernel::overview::ANALYSIS,
    &haloscope_kernel::list::ANALYSIS,
    &haloscope_kernel::regions::ANALYSIS,
    &haloscope_kernel::bundles::ANALYSIS,
    &haloscope_kernel::opcodes::ANALYSIS,
    &haloscope_kernel::registers::ANALYSIS,
    &haloscope_kernel::spills::ANALYSIS,
    &haloscope_kernel::stages::ANALYSIS,
    &haloscope_kernel::diff::ANALYSIS,
    &haloscope_kernel::source::ANALYSIS,
    &haloscope_program::kernel::grid::ANALYSIS,
    &haloscope_program::kernel::text::ANALYSIS,
    &haloscope_program::utilization::ANALYSIS,
    &haloscope_comm::critical_path::analysis::ANALYSIS,
    &haloscope_comm::megascale::ANALYSIS,
    &haloscope_serving::inference::analysis::ANALYSIS,
    &haloscope_program::memory::peak::ANALYSIS,
    &haloscope_program::memory::profile::ANALYSIS,
    &haloscope_program::memory::ATTRIBUTE,
    &haloscope_program::memory::DIAGNOSE,
    &haloscope_oom::ANALYSIS,
    &haloscope_program::hlo::modules::ANALYSIS,
    &haloscope_program::hlo::text::ANALYSIS,
    &haloscope_program::hlo::counters::ANALYSIS,
    &haloscope_program::hlo::fusions::ANALYSIS,
    &haloscope_program::hlo::graph::ANALYSIS,
    &haloscope_program::hlo::search::ANALYSIS,
    &haloscope_program::hlo::diff::ANALYSIS,
    &haloscope_program::audit::FLAGS,
    &INSPECT,
];

/// `inspect`, which holds all of [`ALL`] against each other where asked to.
static INSPECT: Analysis = inspect::analysis(Run::Of(|asked, params, notes| {
    let others: Vec<&'static Analysis> =
        ALL.iter().copied().filter(|analysis| analysis.id != "inspect").collect();
    inspect::run(asked, params, notes, &others)
}));

/// `check`, which may ask any of [`ALL`].
static CHECK: Analysis = check::analysis(Run::Against(|asked, baselines, params, notes| {
    check::run(asked, baselines, params, notes, find)
}));

/// Analyses whose ids have two words share the first; this says what the first stands for. A first word that is an analysis
/// itself (`compute` of `compute mfu`) is not listed: its question says what it is about.
pub static FAMILIES: &[Family] = &[
    Family {
        id: "memory",
        label: "Memory",
        about: "What is in memory, what it is for, and what could be saved",
        usual: "attribute",
    },
    Family {
        id: "hlo",
        label: "HLO",
        about: "What the compiler built: modules, text, counts, fusions, graph, differences",
        usual: "modules",
    },
    Family {
        id: "audit",
        label: "Audit",
        about: "Which flags a run was started with: known, conflicting, missing",
        usual: "flags",
    },
];

/// Analyses of one subject: `memory peak` is a member of `memory`.
pub struct Family {
    /// The first word of its members' ids.
    pub id: &'static str,
    /// Its name in menus and headings.
    pub label: &'static str,
    /// What its members are about, one sentence.
    pub about: &'static str,
    /// The second word of the member that is meant where nobody says which.
    pub usual: &'static str,
}

/// The analysis with this id or slug.
#[must_use]
pub fn find(id: &str) -> Option<&'static Analysis> {
    ALL.iter().copied().find(|a| a.id == id || a.slug() == id)
}

/// The analyses whose ids begin with this word and have a second one, with that word.
pub fn members(first: &'static str) -> impl Iterator<Item = (&'static str, &'static Analysis)> {
    ALL.iter().copied().filter_map(move |analysis| {
        let (word, name) = analysis.id.split_once(' ')?;
        (word == first).then_some((name, analysis))
    })
}

#[cfg(test)]
mod tests {
    use haloscope_report::Error;
    use haloscope_time::analysis::{Params, run_alone};

    use super::*;

    /// The first word of a two-word id is a family or an analysis, never both: else `haloscope` would have two subcommands
    /// of one name.
    #[test]
    fn first_words_stand_for_one_thing() {
        for (first, _) in ALL.iter().filter_map(|analysis| analysis.id.split_once(' ')) {
            let families = FAMILIES.iter().filter(|family| family.id == first).count();
            let leaders = ALL.iter().filter(|analysis| analysis.id == first).count();
            assert_eq!(families + leaders, 1, "{first}");
        }
        for family in FAMILIES {
            assert!(members(family.id).any(|(word, _)| word == family.usual), "{}", family.id);
        }
        for family in FAMILIES {
            assert!(members(family.id).count() > 0, "{} has no member", family.id);
        }
        let names: Vec<&str> = members("compute").map(|(name, _)| name).collect();
        assert_eq!(names, ["mfu"]);
        assert_eq!(find("compute-mfu").map(|analysis| analysis.id), Some("compute mfu"));
        assert_eq!(find("compute").map(|analysis| analysis.id), Some("compute"));
    }

    #[test]
    fn what_needs_a_run_says_so() {
        let error = find("compute").map(|analysis| run_alone(analysis, &Params::default()));
        assert!(matches!(error, Some(Err(Error::Usage(message))) if message.contains("needs a run")));
    }
}

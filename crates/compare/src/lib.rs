//! Two runs of one program, held against each other: what is the same op, what each took in every step, which differences are
//! more than noise, and how they add up to the difference of the step time.

pub mod analysis;
pub mod check;
pub mod comparable;
mod device_samples;
mod groups;
pub mod label;
pub mod matching;
mod owners;
pub mod programs;
pub mod samples;
pub mod significance;
pub mod verdict;
pub mod waterfall;

pub use comparable::{Fact, Same};
pub use device_samples::Rest;
pub use matching::{How, Matches, Pair, Regrouped};
pub use programs::{ProgramHow, ProgramPair, ProgramSide};
pub use samples::{Remainder, RunSamples, SampledOp, StepTime};
pub use verdict::{Between, By, Change, OpVerdict, StepVerdict, Terms, Verdict};
pub use waterfall::{Bar, Effects, Group, Part, Waterfall};

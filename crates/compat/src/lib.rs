//! The answers of XProf's tools, from our profile and our arithmetic.
//!
//! A [`Tool`] takes a [`Profile`] and a [`Params`] and gives an [`Answer`]: the bytes that XProf's `/data` route would give.
//! What a number means is decided in the crates of the analyses (and said there); this crate regroups, names and prints. Where XProf
//! contradicts its own definition we follow the definition, and `fixtures/parity/known.json` says where.
//!
//! ```no_run
//! use haloscope_compat::{Params, answer};
//! use haloscope_profile::load;
//!
//! let profile = load::open(&load::find("logs".as_ref())?)?;
//! let answer = answer(&profile, "hlo_stats", &Params::default())?;
//! println!("{}: {} bytes", answer.content_type, answer.body.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod db;
mod error;
pub mod gviz;
mod hosts;
mod input_pipeline;
mod introsort;
mod modules;
mod params;
pub mod proto_json;
#[cfg(test)]
mod random;
mod steps;
mod text;
mod tools;
mod xprof_lines;

use haloscope_profile::Profile;

pub use answer::Answer;
pub use error::Error;
pub use hosts::{ALL_HOSTS, Hosts, host_names};
pub use params::{Param, Params};
pub use tools::{TOOLS, Tool, empty, find, offered};

/// Asks the tool named `tool` about a run, as `GET /data?tag=<tool>&<params>` asks XProf.
///
/// # Errors
/// [`Error::UnknownTool`], [`Error::Usage`] for parameters, [`Error::Missing`] where the profile cannot feed the tool,
/// [`Error::Core`] where a file of the run changed meanwhile.
pub fn answer(profile: &Profile, tool: &str, params: &Params) -> Result<Answer, Error> {
    let tool = find(tool)?;
    tool.check(params)?;
    let answer = haloscope_report::stop::or_refused(|| (tool.answer)(profile, params));
    // Whatever it says: that something is missing may come of a file that is no longer whole.
    profile.unchanged()?;
    answer
}

//! Profiles as typed columns, the analyses over them, and the reports they give.
//!
//! ```text
//! load (files) -> profile (columns) -> derive (steps, ops, busy time) -> analyses -> report -> present (table, json, csv)
//! ```
//!
//! Data flows one way; `cargo xtask rooms` checks it. [`load`] is the only room that opens files, [`analyses`] holds the
//! registry that every door (command line, HTTP, page) is derived from, and a [`report::Report`] is the only shape that
//! leaves.
//!
//! ```no_run
//! use haloscope_core::{analyses, load, scope::Scope};
//!
//! let profile = load::open(&load::find("logs".as_ref())?)?;
//! let analysis = analyses::find("overview").expect("registered");
//! let report = analyses::run(analysis, &profile, &Scope::default(), &Default::default())?;
//! println!("{}", report.to_json());
//! # Ok::<(), haloscope_core::Error>(())
//! ```

pub mod analyses;
pub mod derive;
mod error;
pub mod export;
pub mod ledger;
pub mod load;
pub mod naming;
mod packing;
pub mod present;
pub mod profile;
pub mod report;
pub mod scope;
pub mod units;

pub use error::Error;

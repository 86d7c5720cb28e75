//! The command line as its users meet it: the real binary, its exit codes, stdout and stderr; and, in this process, what
//! damaged and foreign profiles do to it.

#![expect(clippy::unwrap_used, reason = "what helpers of tests unwrap is what the tests assert")]

mod agents;
mod analyses;
mod cache;
mod capture;
mod command_line;
mod damaged;
mod doors;
mod errors;
mod flags;
mod fleet;
mod gate;
mod habits;
mod hostile_names;
mod hosts;
mod ledger;
mod oom;
mod output_files;
mod part;
mod program;
#[cfg(unix)]
mod query;
mod see;
mod serving;
mod share;
mod small;
mod stated;
mod support;
mod traces;
mod xprof;

//! Whole answers on whole profiles: the runs below `fixtures/runs`, profiles written here for one trap each, and the
//! profiles of `shared/traces` where they are at hand.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop"
)]

mod area;
mod check;
mod clock;
mod column_store;
mod comm;
mod comm_network;
mod compare;
mod compare_matching;
mod compiled;
mod compute;
mod critical_path;
mod damage;
mod diagnose;
mod diagnose_device;
mod diagnose_host;
mod flags;
mod flows;
mod forged;
mod frameworks;
mod gpu_recorded;
mod gpu_steps;
mod groups;
mod hlo_graph;
mod input;
mod kept;
mod kernel;
mod kernel_dumps;
mod lanes;
mod large;
mod made;
mod memory_attribute;
mod one_pass;
mod pallas;
mod parts;
mod program;
mod scope;
mod search;
mod selfcheck;
mod several_programs;
mod share;
mod snapshots;
mod support;
mod time_account;
mod torch_kernels;
mod traps;
mod truth;
mod views;
mod windows;

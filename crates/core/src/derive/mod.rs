//! What analyses share: the part of the run that a scope selects, ops with their self time, busy time, steps.

pub mod allocator;
pub mod bound;
pub mod busy;
pub mod context;
pub mod counter_names;
pub mod counters;
pub mod derived;
pub mod framework_op;
pub mod gradients;
pub mod heap;
pub mod hlo_costs;

pub mod inference;
pub mod intervals;
pub mod kernels;
pub mod launches;
pub mod limits;
pub mod op_meta;
pub mod op_rows;
pub mod op_sums;
pub mod ops;
pub mod precision;
pub mod provenance;
pub mod quality;
pub mod select;
pub mod stats;
pub mod steps;
pub mod tensor_cores;
pub mod timeline;
pub mod transfers;
pub mod unit_usage;
pub mod usage;

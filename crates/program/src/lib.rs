//! What the compiler built and what its programs do in memory: heaps, whose a buffer is, copies and relayouts, flags, model
//! FLOPs; and the analyses that say it.

pub mod allocator;
pub mod allocator_peak;
pub mod attribution;
pub mod audit;
pub mod capacity;
pub mod compute;
pub mod copies;
pub mod counter_names;
pub mod data_type;
pub mod donation;
pub mod flags;
pub mod fusion_gaps;
pub mod heap;
pub mod hlo;
pub mod kernel;
pub mod memory;
pub mod model_flops;
pub mod program_memory;
pub mod relayouts;
pub mod scoped_memory;
pub mod source;
pub mod source_frames;
pub mod typed_peak;
pub mod unit_usage;
pub mod utilization;
pub mod value_flow;
pub mod variants;

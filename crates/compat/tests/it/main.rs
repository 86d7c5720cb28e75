//! Tests of the tools, a module a tool.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod kernel_stats;
mod op_profile;
mod support;
mod tool_names;

//! Tests of the tools, a module a tool.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod kernel_stats;
mod support;
mod tool_names;

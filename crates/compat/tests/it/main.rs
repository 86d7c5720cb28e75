//! Tests of the tools, a module a tool.

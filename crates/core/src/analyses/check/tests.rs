//! Checks on made runs.

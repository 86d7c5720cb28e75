//! Tests of the reader and the writer, in one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod cut;
mod flips;
mod malformed;
mod merge;
mod raw;
mod real;
mod round_trip;
mod sample;
mod strategies;
mod text;
mod varint;

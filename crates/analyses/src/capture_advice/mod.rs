//! What to ask of the profiler for a question, and what a capture lacked.
//!
//! `table` is data: settings, what they give and what they cost. [`missing`] looks at a profile and says which of it was recorded.

pub mod missing;
mod table;
pub mod words;

pub use table::{Kind, Question, Setting, find, of_question, questions, settings};

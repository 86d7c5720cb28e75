//! Requests and batches: host events grouped by what caused them, the lines XProf derives from them, and what inference
//! servers spent on each request.

pub mod inference;

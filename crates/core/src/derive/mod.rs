//! What analyses share.
pub mod provenance;

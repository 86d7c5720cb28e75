//! What can go wrong while a module is read.

use haloscope_xspace::Fault;

/// An LLO module that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field is malformed; says where in the message.
    #[error("expected an LLO module: {0}")]
    Malformed(#[from] Fault),
    /// Regions are nested deeper than any compiler nests them.
    #[error("expected regions nested at most {limit} deep, found deeper ones at byte {offset}")]
    TooDeep {
        /// Offset in the message of the region.
        offset: u64,
        /// How deep they may be.
        limit: usize,
    },
    /// It takes many times its size in memory.
    #[error(
        "expected an LLO module that takes at most {allowed} bytes in memory, as its size allows, found one that takes more; if it is what it should be, --memory-limit SIZE reads it, or more memory where `ulimit -v` or a control group bounds it"
    )]
    TooLarge {
        /// How many it may take.
        allowed: u64,
    },
    /// More parts than are counted here.
    #[error("expected at most {limit} {what}, found more")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
}

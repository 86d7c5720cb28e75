//! What is known of the call that a kernel stands in.

/// What is known of the call that a kernel stands in, beside its own code. Nothing is, by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Extents of the arrays that its operands and results are blocks of, in order: blocks that reach over an edge are cut off
    /// there. `None` for an array that is not known.
    pub arrays: Vec<Option<Vec<u64>>>,
    /// Values of the scalars that are prefetched for it, array by array, the last dimension fastest: what hangs on them is
    /// computed, not bounded. `None` for an array that is no constant of the program.
    pub scalars: Vec<Option<Vec<i64>>>,
}

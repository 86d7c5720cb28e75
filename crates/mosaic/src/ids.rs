//! Positions in a module's tables.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            pub(crate) fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// An attribute of a module.
    AttributeId,
    /// A type of a module.
    TypeId,
    /// A string of a module.
    StringId,
    /// An operation of a module.
    OpId,
    /// A region of a module.
    RegionId,
    /// A block of a module.
    BlockId,
    /// A value of a module: a result of an operation, or an argument of a block.
    ValueId,
}

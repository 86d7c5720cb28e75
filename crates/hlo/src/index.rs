//! Typed indices: a number that says which table it points into.

use std::fmt;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The position in the table, from 0.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The index of a position, or `None` past 32 bits.
            #[must_use]
            pub fn from_index(index: usize) -> Option<Self> {
                u32::try_from(index).ok().map(Self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

index! {
    /// Points at a computation of one [`Module`](crate::Module).
    ComputationIdx
}
index! {
    /// Points at an instruction of one [`Module`](crate::Module), whatever its computation.
    InstructionIdx
}

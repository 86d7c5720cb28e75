//! What can go wrong while bytecode is read.

/// Bytes that are not a module this crate reads. Each message says what was expected, what was found, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The first four bytes are not MLIR's.
    #[error("expected MLIR bytecode, which begins with `ML\\xefR`, found {found:02x?}")]
    NotBytecode {
        /// Up to four first bytes.
        found: Vec<u8>,
    },
    /// A line of a module's text is not what can be read.
    #[error("line {line} of the kernel's text: expected {expected}")]
    Text {
        /// From 1.
        line: usize,
        /// What was expected there.
        expected: &'static str,
    },
    /// Another version of the format.
    #[error("expected MLIR bytecode of version 0, which kernels are kept in, found version {found}")]
    Version {
        /// The version that the file names.
        found: u64,
    },
    /// A section is missing that every module has.
    #[error("expected a section of {section}, found none")]
    Missing {
        /// What the section holds.
        section: &'static str,
    },
    /// A section holds what it cannot.
    #[error("{section}, byte {offset}: expected {expected}")]
    Malformed {
        /// What the section holds.
        section: &'static str,
        /// Where in the section.
        offset: usize,
        /// What was expected there.
        expected: &'static str,
    },
    /// Regions stand deeper in one another than any kernel's do.
    #[error("expected regions at most {limit} deep, found more")]
    TooDeep {
        /// The deepest that is read.
        limit: usize,
    },
    /// A backend's configuration has a kernel whose text is not base64.
    #[error("expected a kernel's body in base64, found another character at its position {offset}")]
    NotBase64 {
        /// Position in the body's text.
        offset: usize,
    },
    /// The module has no function.
    #[error("expected a kernel's function in the module, found none")]
    NoKernel,
}

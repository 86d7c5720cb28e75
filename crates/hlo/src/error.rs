//! What can go wrong while a module is decoded.

/// An HLO proto that cannot be read. Each message says what was expected and what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not a well-formed protobuf message of the expected kind.
    #[error("expected {expected}, found malformed protobuf in {bytes} bytes: {source}")]
    Protobuf {
        /// The message that was expected.
        expected: &'static str,
        /// How many bytes were given.
        bytes: usize,
        /// The decoder's complaint.
        source: prost::DecodeError,
    },
    /// The message is well-formed but holds no module, or a module without computations.
    #[error("expected {expected}, found {found}")]
    NoModule {
        /// What was expected.
        expected: &'static str,
        /// What was there instead.
        found: String,
    },
    /// An instruction refers to something that the module does not contain.
    #[error(
        "instruction {instruction:?} in computation {computation:?}: expected its {role} with id {id}, found none"
    )]
    MissingId {
        /// Name of the referring instruction.
        instruction: String,
        /// Name of the computation around it.
        computation: String,
        /// What the id stands for: operand, called computation, control predecessor.
        role: &'static str,
        /// The id that leads nowhere.
        id: i64,
    },
    /// A computation's root, or the module's entry, does not exist.
    #[error("expected {role} with id {id} in {within:?}, found none")]
    MissingRoot {
        /// What the id stands for: root instruction or entry computation.
        role: &'static str,
        /// The id that leads nowhere.
        id: i64,
        /// The computation or module that was searched.
        within: String,
    },
    /// The text is not HLO as XLA prints it.
    #[error("line {line}, column {column}: expected {expected}, found {found}")]
    Text {
        /// Line of the text, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What could have stood there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// More instructions or computations than a 32-bit index can name.
    #[error("expected at most {limit} {what}, found {found}")]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// The largest number that is read.
        limit: usize,
        /// How many there are.
        found: usize,
    },
    /// A module of so many short parts that decoded it would take many times its size.
    #[error(
        "expected a module, found {bytes} bytes of parts that are so short that they take more than {allowed} bytes of memory: compilers \
         write none such. If it is what it should be, --memory-limit SIZE reads it, or more memory where `ulimit -v` or a control group \
         bounds it"
    )]
    TooLarge {
        /// Bytes of the module.
        bytes: usize,
        /// Bytes of memory that it may take.
        allowed: u64,
    },
}

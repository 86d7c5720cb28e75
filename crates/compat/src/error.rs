//! Why a tool does not answer.

/// Why a tool does not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No tool has this name.
    #[error("there is no tool `{asked}`; there are: {}", known.join(", "))]
    UnknownTool {
        /// What was asked for.
        asked: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A parameter is unknown or has a value that cannot be understood; says what there is.
    #[error("{0}")]
    Usage(String),
    /// The profile has nothing that the tool could show.
    #[error("{tool}: this profile has {missing}; {remedy}")]
    Missing {
        /// The tool.
        tool: &'static str,
        /// Which plane, line or stat is not there, such as "no `/device:GPU:N` plane".
        missing: String,
        /// How to capture it.
        remedy: String,
    },
    /// The engine had no answer.
    #[error(transparent)]
    Core(#[from] haloscope_report::Error),
    /// An answer that could not be written down.
    #[error("cannot write the answer: {0}")]
    Internal(String),
}

impl Error {
    /// The HTTP status of an answer that says this: 400 for a question that is wrong, 404 where there is nothing,
    /// 409 where a file changed meanwhile, 500 else.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        match self {
            Self::UnknownTool { .. } | Self::Usage(_) | Self::Core(haloscope_report::Error::Usage(_)) => 400,
            Self::Missing { .. } | Self::Core(haloscope_report::Error::Nothing(_)) => 404,
            Self::Core(haloscope_report::Error::Changed { .. }) => 409,
            Self::Core(_) | Self::Internal(_) => 500,
        }
    }

    /// The exit code of a process that ends with this error, as in [`haloscope_report::Error::exit_code`].
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::UnknownTool { .. } | Self::Usage(_) => 2,
            Self::Missing { .. } => 4,
            Self::Core(error) => error.exit_code(),
            Self::Internal(_) => 1,
        }
    }
}

//! What a tool is.

use crate::{Answer, Arguments, Context, Object, Refusal};

/// How a tool is called. It runs on a thread that may block.
pub type Call = Box<dyn Fn(&Context, &Arguments) -> Result<Answer, Refusal> + Send + Sync>;

/// A tool that agents call. All of them only read.
pub struct Tool {
    /// Its name: lower case, `_` between words.
    pub name: String,
    /// What a person reads for it.
    pub title: String,
    /// What it is for, one or two sentences: agents pay for every word of it in every conversation.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub input: Object,
    /// The JSON schema of its structured answer, an object.
    pub output: Object,
    /// Answers a call. Its arguments have been held against the names in `input`, not against their types.
    pub call: Call,
}

impl Tool {
    /// A tool whose answers follow the schema that all share: see [`crate::answer_schema`].
    pub fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        description: impl Into<String>,
        input: Object,
        call: impl Fn(&Context, &Arguments) -> Result<Answer, Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            description: description.into(),
            input,
            output: crate::answer_schema(),
            call: Box::new(call),
        }
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

//! HLO modules that the profiler embedded.

use super::{HostId, Span};

/// An HLO module of the run, decoded when first asked for.
#[derive(Debug)]
pub struct HloModule {
    /// The host whose profile holds it.
    pub host: HostId,
    /// The file it stands in: a row of [`super::Profile::sources`].
    pub source: usize,
    /// Its name without the program id.
    pub name: String,
    /// The program id, which ops name in their stat `program_id`.
    pub program_id: Option<u64>,
    /// The serialised `HloProto`.
    pub proto: Span,
}

impl HloModule {
    /// The module as the profiler labels it: `name(program id)`.
    #[must_use]
    pub fn label(&self) -> String {
        self.program_id.map_or_else(|| self.name.clone(), |id| format!("{}({id})", self.name))
    }
}

/// Splits `name(program id)`.
pub(super) fn split_label(label: &str) -> (&str, Option<u64>) {
    let parts = label.strip_suffix(')').and_then(|l| l.rsplit_once('('));
    match parts.and_then(|(name, id)| Some((name, id.parse().ok()?))) {
        Some((name, id)) => (name, Some(id)),
        None => (label, None),
    }
}

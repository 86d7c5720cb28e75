//! Which source line, scope and primitive an instruction is of.

use haloscope_llo::{Info, InstructionIdx, Module};

/// The source of each instruction.
#[derive(Debug)]
pub struct Lines<'m, 'a> {
    module: &'m Module<'a>,
    infos: Vec<Option<u32>>,
}

impl<'m, 'a> Lines<'m, 'a> {
    /// Of a module; without a source map every answer is unknown.
    #[must_use]
    pub fn new(module: &'m Module<'a>) -> Self {
        Self { module, infos: module.infos() }
    }

    /// The rows of the source map.
    #[must_use]
    pub fn all(&self) -> &'m [Info] {
        self.module.source_map.as_ref().map_or(&[], |map| &map.infos)
    }

    /// Which row of the source map an instruction is of.
    #[must_use]
    pub fn number(&self, row: InstructionIdx) -> Option<u32> {
        self.infos.get(row).copied().flatten()
    }

    fn info(&self, row: InstructionIdx) -> Option<&'m Info> {
        self.all().get(self.number(row)? as usize)
    }

    /// File and line.
    #[must_use]
    pub fn line(&self, row: InstructionIdx) -> Option<String> {
        self.line_of(self.info(row)?)
    }

    /// File and line of a row of the source map.
    #[must_use]
    pub fn line_of(&self, info: &Info) -> Option<String> {
        self.module.source_map.as_ref()?.line_of(info)
    }

    /// The named scopes around it, `/` between them.
    #[must_use]
    pub fn scope_of(&self, info: &Info) -> Option<String> {
        let map = self.module.source_map.as_ref()?;
        let words: Vec<&str> = info.scopes.iter().filter_map(|scope| map.text(*scope)).collect();
        (!words.is_empty()).then(|| words.join("/"))
    }

    /// The primitive, such as `dot_general`.
    #[must_use]
    pub fn primitive_of(&self, info: &Info) -> Option<String> {
        Some(self.module.source_map.as_ref()?.text(info.primitive?)?.to_owned())
    }
}

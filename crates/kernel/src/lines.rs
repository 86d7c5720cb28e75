//! Which source line, scope and primitive an instruction is of.

use haloscope_llo::{InstructionIdx, Module};

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

    fn info(&self, row: InstructionIdx) -> Option<&'m haloscope_llo::Info> {
        let number = (*self.infos.get(row)?)?;
        self.module.source_map.as_ref()?.infos.get(number as usize)
    }

    /// File and line.
    #[must_use]
    pub fn line(&self, row: InstructionIdx) -> Option<String> {
        self.module.source_map.as_ref()?.line_of(self.info(row)?)
    }

    /// The named scopes around it, `/` between them.
    #[must_use]
    pub fn scope(&self, row: InstructionIdx) -> Option<String> {
        let map = self.module.source_map.as_ref()?;
        let words: Vec<&str> = self.info(row)?.scopes.iter().filter_map(|scope| map.text(*scope)).collect();
        (!words.is_empty()).then(|| words.join("/"))
    }

    /// The primitive, such as `dot_general`.
    #[must_use]
    pub fn primitive(&self, row: InstructionIdx) -> Option<String> {
        Some(self.module.source_map.as_ref()?.text(self.info(row)?.primitive?)?.to_owned())
    }
}

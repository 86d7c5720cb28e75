//! Compiled programs without a profile: modules, and nothing that happened.

use std::path::PathBuf;
use std::sync::OnceLock;

use haloscope_hlo::Module;

use super::{Bytes, HloModule, Host, HostId, Profile, Source, Span, Stage};

/// A file with one module at one stage of its compilation.
pub struct ProgramFile {
    /// Where it was read from.
    pub path: PathBuf,
    /// An `HloProto`, an `HloModuleProto` or HLO text.
    pub bytes: Bytes,
    /// Name of the module where the bytes do not say.
    pub module: String,
    /// Its stage.
    pub stage: Stage,
    /// Whether it stands for the module where there are several stages.
    pub is_last: bool,
    /// `-buffer-assignment.txt` of this stage, where the dump has one: path and bytes.
    pub buffers: Option<(PathBuf, Bytes)>,
}

/// A file that the last stage of a TPU's compiler wrote of one op (`--xla_jf_dump_to`).
pub struct DumpedFile {
    /// Where it was read from.
    pub path: PathBuf,
    /// The op's LLO, or the text of a stage.
    pub bytes: Bytes,
    /// The HLO instruction.
    pub op: String,
    /// Number of its compilation, where the file's name has one.
    pub compilation: Option<u64>,
    /// The stage; [`Dumped::MODULE`] of the message itself.
    pub stage: String,
}

/// What the last stage of a TPU's compiler wrote of one op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dumped {
    /// Row of [`Profile::sources`] that has it.
    pub source: usize,
    /// The HLO instruction.
    pub op: String,
    /// Number of its compilation, where the file's name has one: of two compilations into one folder each has its own.
    pub compilation: Option<u64>,
    /// The stage, such as `packed-bundles-post-ra`.
    pub stage: String,
}

impl Dumped {
    /// The stage of the message that holds an op's LLO.
    pub const MODULE: &'static str = "llo_module";
}

impl Profile {
    /// Adds what the last stage of a compiler wrote of ops to a program.
    pub fn add_dumped(&mut self, files: Vec<DumpedFile>) {
        for DumpedFile { path, bytes, op, compilation, stage } in files {
            self.dumped.push(Dumped { source: self.sources.len(), op, compilation, stage });
            self.sources.push(Source::new(path, bytes));
        }
    }
}

impl Profile {
    /// A program from its files: a profile that has modules, and one host without a plane, `name`.
    #[must_use]
    pub fn from_programs(name: &str, files: Vec<ProgramFile>) -> Self {
        let mut profile = Self::default();
        profile.hosts.push(Host {
            name: name.to_owned(),
            start_ns: None,
            stop_ns: None,
            capture_ps: None,
            base_ps: 0,
            environment: Vec::new(),
        });
        for file in files {
            let module = HloModule {
                host: HostId(0),
                source: profile.sources.len(),
                name: Module::name_in(&file.bytes).unwrap_or(file.module),
                program_id: None,
                proto: Span { at: 0, len: file.bytes.len() as u64 },
                stage: Some(file.stage),
                decoded: OnceLock::new(),
                first: OnceLock::new(),
            };
            let mut source = Source::new(file.path, file.bytes);
            source.modules = 1 + usize::from(file.is_last);
            if file.is_last {
                profile.modules.push(module.copied());
            }
            profile.stages.push(module);
            source.buffers = file.buffers;
            profile.sources.push(source);
        }
        profile
    }
}

impl Profile {
    /// A text with flags of XLA or libtpu, such as a launch script: a profile of one file in which nothing happened.
    #[must_use]
    pub fn from_flags(path: PathBuf, bytes: Bytes) -> Self {
        let mut profile = Self { is_flags: true, ..Self::default() };
        profile.sources.push(Source::new(path, bytes));
        profile
    }
}

impl HloModule {
    /// The same module, not decoded.
    fn copied(&self) -> Self {
        Self {
            name: self.name.clone(),
            stage: self.stage.clone(),
            decoded: OnceLock::new(),
            first: OnceLock::new(),
            ..*self
        }
    }
}

//! HLO modules that the profiler embedded.

use std::path::PathBuf;
use std::sync::OnceLock;

use haloscope_hlo::{BufferAssignment, CostAnalysis, CostOptions, Module};
use haloscope_report::stop;
use rustc_hash::FxHashMap;

use super::{HostId, Profile, Source, Span, load};

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
    /// The serialised `HloProto`; of a program without a profile the whole file, which may be HLO text.
    pub proto: Span,
    /// Where it stands in a dump; `None` where it comes from a profile.
    pub stage: Option<Stage>,
    pub(super) decoded: OnceLock<Result<Box<Decoded>, String>>,
    /// The first module of the run with the same bytes: its row; `None` where that is this one.
    pub(super) first: OnceLock<Option<usize>>,
}

/// Modules by what is compared first, their program id and length: the first few rows of each.
#[derive(Debug)]
pub(super) struct Alike(FxHashMap<(Option<u64>, u64), Vec<usize>>);

impl Alike {
    /// More that have the same length and are not the same are not looked at.
    const FEW: usize = 4;

    fn of(modules: &[HloModule]) -> Self {
        let mut all: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        for (row, module) in modules.iter().enumerate() {
            let rows = all.entry((module.program_id, module.proto.len)).or_default();
            if rows.len() < Self::FEW {
                rows.push(row);
            }
        }
        Self(all)
    }
}

/// A stage of a module's compilation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stage {
    /// Its name, for instance `before_optimizations`; empty for a file that is not of a dump.
    pub name: String,
    /// Number of the module in the dump.
    pub number: Option<u64>,
}

/// A decoded module and what its instructions cost.
#[derive(Debug)]
pub struct Decoded {
    /// The module.
    pub module: Module,
    /// FLOPs and bytes of its instructions, as XLA's cost analysis counts them.
    pub costs: CostAnalysis,
    /// Where the buffer assignment was read from, if it is not with the module: XLA's text, which has no heap traces.
    pub buffers_file: Option<PathBuf>,
    /// Why that file could not be read.
    pub buffers_fault: Option<String>,
    gpu_costs: OnceLock<CostAnalysis>,
}

impl Decoded {
    /// What instructions cost as XLA's GPU backend counts, which XProf shows for GPUs.
    #[must_use]
    pub fn gpu_costs(&self) -> &CostAnalysis {
        self.gpu_costs.get_or_init(|| CostAnalysis::new(&self.module, CostOptions::xla_gpu()))
    }
}

impl HloModule {
    /// The module as the profiler labels it: `name(program id)`.
    #[must_use]
    pub fn label(&self) -> String {
        self.program_id.map_or_else(|| self.name.clone(), |id| format!("{}({id})", self.name))
    }

    /// The decoded module, with the buffer assignment that a dump has beside it where it has none of its own. All hosts of a run hold
    /// the same programs: one that another holds byte for byte is decoded once for both.
    ///
    /// # Errors
    /// What is wrong with the proto, in words.
    pub fn decode<'p>(&'p self, profile: &'p Profile) -> Result<&'p Decoded, &'p str> {
        let first = *self.first.get_or_init(|| self.first_alike(profile));
        let module = first.and_then(|row| profile.modules.get(row)).unwrap_or(self);
        module.decode_own(&profile.sources[module.source])
    }

    fn first_alike(&self, profile: &Profile) -> Option<usize> {
        let source = &profile.sources[self.source];
        // Two files of a dump may have other texts beside them.
        if source.buffers.is_some() {
            return None;
        }
        let bytes = source.slice(self.proto);
        let is_alike = |row: &&usize| {
            let Some(other) = profile.modules.get(**row) else { return false };
            let of = &profile.sources[other.source];
            std::ptr::eq(other, self) || (of.buffers.is_none() && of.slice(other.proto) == bytes)
        };
        let all = profile.alike.get_or_init(|| Alike::of(&profile.modules));
        let first = all.0.get(&(self.program_id, self.proto.len))?.iter().find(is_alike).copied();
        first.filter(|row| !profile.modules.get(*row).is_some_and(|module| std::ptr::eq(module, self)))
    }

    fn decode_own(&self, source: &Source) -> Result<&Decoded, &str> {
        stop::check();
        let decoded = self.decoded.get_or_init(|| {
            let (proto, room) =
                (source.slice(self.proto), load::within_system(source.room_for(self.proto.len)));
            let mut module = Module::read_within(proto, room).map_err(|error| error.to_string())?;
            let costs = CostAnalysis::new(&module, CostOptions::default());
            let (mut buffers_file, mut buffers_fault) = (None, None);
            if let (None, Some((path, text))) = (&module.buffer_assignment, &source.buffers) {
                let read = || {
                    load::text_fits(path, text.len() as u64, source.room_for(self.proto.len).beside)?;
                    BufferAssignment::parse(&String::from_utf8_lossy(text)).map_err(|error| error.to_string())
                };
                match read() {
                    Ok(buffers) => module.buffer_assignment = Some(buffers),
                    Err(error) => buffers_fault = Some(error),
                }
                buffers_file = Some(path.clone());
            }
            Ok(Box::new(Decoded { module, costs, buffers_file, buffers_fault, gpu_costs: OnceLock::new() }))
        });
        decoded.as_deref().map_err(String::as_str)
    }
}

/// Splits `name(program id)`, the form in which the profiler labels programs.
#[must_use]
pub fn split_label(label: &str) -> (&str, Option<u64>) {
    let parts = label.strip_suffix(')').and_then(|l| l.rsplit_once('('));
    match parts.and_then(|(name, id)| Some((name, id.parse().ok()?))) {
        Some((name, id)) => (name, Some(id)),
        None => (label, None),
    }
}

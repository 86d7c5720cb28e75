//! The kernel that a question is about.

use haloscope_llo::{Chip, Module, Target};
use haloscope_profile::{DeviceKind, Profile};
use haloscope_report::{Error, Notes, Severity, Status, Unit, Value};
use haloscope_time::analysis::{Param, ParamKind, Params};
use haloscope_time::select::Scoped;

use crate::carried::{self, Carried};
use crate::dump::{self, Stages};
use crate::measured::{Measured, Times};
use crate::model::Model;

/// Which op is meant.
pub(crate) const OP: Param = Param {
    id: "op",
    doc: "the op: `module(number)::op` as in `kernel list`, the HLO instruction, or a part of either; default: the one with the most time, else with the most modelled bundles",
    kind: ParamKind::Text,
    default: "",
};

/// What these questions need of a profile.
pub(crate) const NEEDS: &[&str] = &[
    "the stat `llo_proto` on the plane `/host:metadata`: compile with `--xla_xprof_register_llo_debug_info=true` in LIBTPU_INIT_ARGS; or a dump of the compiler, of which RUN is the folder or an `llo_module.pb`: `--xla_jf_dump_to=DIR --xla_jf_dump_llo_proto=true`",
    "for times: the same ops on a TPU's XLA Ops line",
];

/// The ops of a scope that carry their LLO: of hosts that have the same op, the first.
pub(crate) fn carried_in<'p>(asked: &Scoped<'p>, notes: &mut Notes) -> Result<Vec<Carried<'p>>, Error> {
    let (all, whole) = in_scope(asked);
    if all.len() < whole {
        notes.add(
            "same_kernels",
            Severity::Info,
            format!(
                "{} ops occur on several hosts under the same name; the first host's is shown",
                whole - all.len()
            ),
            "none, if all hosts run the same program",
            "`--hosts` shows another's",
        );
    }
    if all.is_empty() {
        return Err(Error::Nothing(why_none(asked.profile)));
    }
    Ok(all)
}

/// The ops of a scope that carry their LLO, of hosts that have the same op the first; and how many there are with the others.
fn in_scope<'p>(asked: &Scoped<'p>) -> (Vec<Carried<'p>>, usize) {
    let profile = asked.profile;
    let hosts = &asked.scope.hosts;
    let mut all: Vec<Carried<'p>> = carried::all(profile);
    all.retain(|kernel| hosts.is_empty() || hosts.contains(&profile.host(kernel.host).name));
    all.retain(|kernel| {
        let modules = &asked.scope.modules;
        modules.is_empty() || modules.iter().any(|word| kernel.module().contains(word.as_str()))
    });
    let whole = all.len();
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|kernel| seen.insert(kernel.name.clone()));
    (all, whole)
}

/// Why a run carries the LLO of no op.
#[must_use]
pub fn why_none(profile: &Profile) -> String {
    if profile.is_program() {
        return "this is a compiled program, not a profile: it has no LLO; dump that of a TPU with \
                `--xla_jf_dump_to=DIR --xla_jf_dump_llo_proto=true` in LIBTPU_INIT_ARGS and pass DIR. `kernel grid` and `kernel text` show what a program says about its Pallas kernels"
            .into();
    }
    let others = profile.devices.iter().filter(|device| device.kind != DeviceKind::Tpu).count();
    if others > 0 && others == profile.devices.len() {
        return "no op of this run has its LLO: only kernels of TPUs do, and this run has none".into();
    }
    "no op of this run has its LLO (stat `llo_proto` on the plane `/host:metadata`): compile with `--xla_xprof_register_llo_debug_info=true` in LIBTPU_INIT_ARGS, and capture again; SparseCore kernels have none"
        .into()
}

/// A kernel, read: any op that carries its LLO, fusions of XLA too.
pub struct Subject<'p> {
    /// `module(number)::op`.
    pub name: String,
    /// What it consists of.
    pub module: Module<'p>,
    /// How often what runs.
    pub model: Model,
    /// Its time in the scope, where the run has one.
    pub measured: Option<Measured>,
    /// Number of its compilation, in a dump whose files have one.
    compilation: Option<u64>,
}

/// Reads a kernel.
///
/// # Errors
/// [`Error::Nothing`] for one that cannot be read; says why.
pub(crate) fn read<'p>(kernel: &Carried<'p>, times: &Times) -> Result<Subject<'p>, Error> {
    let module = kernel.read().map_err(|why| Error::Nothing(format!("the LLO of {}: {why}", kernel.name)))?;
    let model = Model::new(&module);
    let (name, compilation) = (kernel.name.to_string(), kernel.compilation);
    Ok(Subject { name, module, model, measured: times.of(kernel), compilation })
}

/// The kernels of a scope that a text names, read: by whole name, by op, or by a part of the name; an empty text names all. Those
/// that cannot be read are errors in their place.
#[must_use]
pub fn named<'p>(asked: &Scoped<'p>, text: &str) -> Vec<Result<Subject<'p>, Error>> {
    let (all, _) = in_scope(asked);
    let found = carried::named(&all, text);
    if found.is_empty() {
        return Vec::new();
    }
    let times = Times::new(asked.profile, asked.selection().ok());
    found.into_iter().map(|kernel| read(kernel, &times)).collect()
}

/// Bundles that rank a kernel for which no time was measured.
fn weight(subject: &Subject<'_>) -> f64 {
    subject.model.most().unwrap_or(subject.module.bundles() as f64)
}

impl<'p> Subject<'p> {
    /// The kernel that `op` names.
    pub(crate) fn choose(asked: &Scoped<'p>, params: &Params, notes: &mut Notes) -> Result<Self, Error> {
        let all = carried_in(asked, notes)?;
        let word = params.text(&OP);
        let named = carried::named(&all, word);
        if named.is_empty() {
            return Err(Error::Usage(format!("no op `{word}` has its LLO; ops that do: {}", listed(&all))));
        }
        let times = Times::new(asked.profile, asked.selection().ok());
        let mut best: Option<Subject<'p>> = None;
        let rank =
            |subject: &Subject<'_>| (subject.measured.map_or(-1, |time| time.total_ps), weight(subject));
        let mut fault = None;
        for kernel in &named {
            match read(kernel, &times) {
                Ok(subject) => {
                    let is_first = best.as_ref().is_none_or(|best| rank(&subject) > rank(best));
                    if is_first {
                        best = Some(subject);
                    }
                }
                Err(why) => fault = Some(why),
            }
        }
        let subject = match (best, fault) {
            (Some(subject), _) => subject,
            (None, Some(fault)) => return Err(fault),
            (None, None) => return Err(Error::Nothing("no kernel".into())),
        };
        if named.len() > 1 && !word.is_empty() {
            notes.add(
                "several_kernels",
                Severity::Info,
                format!("{} ops match `{word}`; this is {}", named.len(), subject.name),
                "none",
                "`kernel list` has their names",
            );
        }
        if named.iter().any(|kernel| kernel.name == subject.name && times.is_ambiguous(kernel)) {
            notes.add(
                "several_programs",
                Severity::Warning,
                format!("several programs with the same name have an op {}", subject.module.op),
                "its measured time is unknown: LLO does not say which program it belongs to",
                "give the programs different names, or select one with --modules",
            );
        }
        if subject.model.most().is_none() {
            notes.add(
                "unknown_trips",
                Severity::Info,
                "the bounds of a loop are known only at run time",
                "modelled bundles and values weighted by them are unknown",
                "",
            );
        }
        let traces = subject.traces();
        if traces > 0 {
            notes.add(
                "instrumented",
                Severity::Warning,
                format!("{traces} instructions of {} only trace its regions", subject.module.op),
                "with tracing the kernel has more and different bundles",
                "compile without `--xla_xprof_enable_custom_call_tracing` to get valid numbers; source lines need only `--xla_xprof_register_llo_debug_info`",
            );
        }
        Ok(subject)
    }

    /// What a dump says of its stages; `None` where the run has none.
    #[must_use]
    pub fn stages(&self, profile: &Profile) -> Option<Stages> {
        dump::of(profile, &self.module.op, self.compilation)
    }

    /// How many instructions are there for a trace of its regions only.
    #[must_use]
    pub fn traces(&self) -> u64 {
        self.module.instructions.iter().filter(|i| i.opcode.is_trace()).count() as u64
    }

    /// The chip that it was compiled for.
    #[must_use]
    pub fn chip(&self) -> Option<Chip> {
        self.module.target.as_ref().and_then(Target::chip)
    }

    /// The headline values that say which kernel this is.
    pub(crate) fn values(&self) -> Vec<Value> {
        vec![
            Value::new(
                "kernel",
                "Kernel",
                Some(self.name.as_str()),
                Unit::None,
                Status::Measured,
                "The analysed op: the one asked for, else the one with the most measured time, else with the most modelled bundles. The number is the compiler's, not the program id.",
            ),
            Value::new(
                "chip",
                "Compiled for",
                self.chip().map(Chip::name),
                Unit::None,
                Status::Measured,
                "The chip in the kernel's own target.",
            ),
            Value::new(
                "bundles",
                "Bundles",
                Some(self.module.bundles()),
                Unit::Count,
                Status::Measured,
                "Length of the schedule, before empty bundles become delays: about the cycles of one pass. The code is shorter, because there a run of empty bundles is one delay.",
            ),
        ]
    }

    /// The bundles of a region's path and of a bundle.
    pub(crate) fn region(&self, bundle: u32) -> Option<String> {
        let row = self.model.regions.get(bundle as usize).copied().flatten()?;
        Some(self.module.path(row))
    }
}

/// Names for a message, at most thirty.
fn listed(all: &[Carried<'_>]) -> String {
    const LISTED: usize = 30;
    let mut names: Vec<&str> = all.iter().take(LISTED).map(|kernel| kernel.name.as_ref()).collect();
    if all.len() > LISTED {
        names.push("and more");
    }
    names.join(", ")
}

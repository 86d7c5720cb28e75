//! Which of a run's HLO modules a question is about.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::fix;
use super::launches;
use super::select::Selection;
use haloscope_profile::{Decoded, HloModule, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::stop;

/// A module that a question is about.
#[derive(Debug, Clone, Copy)]
pub struct Program<'p> {
    /// Where it stands in the run.
    pub entry: &'p HloModule,
    /// What it holds.
    pub decoded: &'p Decoded,
}

impl<'p> Program<'p> {
    /// The module's name with its program id, and the stage where it comes from a dump that has several: `jit_step(7)`,
    /// `jit_step@before_optimizations`.
    #[must_use]
    pub fn label(&self) -> String {
        label(self.entry)
    }

    /// The kernels that it calls, by XLA's names: instructions that run a Pallas kernel, in the order of the program.
    #[must_use]
    pub fn kernels(&self) -> Vec<&'p str> {
        kernels(&self.decoded.module)
    }
}

/// The instructions of a module that run a Pallas kernel of TPUs, in the order of the program.
#[must_use]
pub fn kernels(module: &haloscope_hlo::Module) -> Vec<&str> {
    let is_kernel = |hlo: &haloscope_hlo::Instruction| {
        hlo.attributes().custom_call_target.as_deref() == Some("tpu_custom_call")
    };
    module.instructions().filter(|(_, hlo)| is_kernel(hlo)).map(|(_, hlo)| hlo.name.as_str()).collect()
}

/// The function that a module was compiled from, by the module's name: TensorFlow numbers each trace of a `tf.function`, as in
/// `a_inference_train_step_101__XlaMustCompile_true_.5`, which is `train_step`. Other names stay as they are.
#[must_use]
pub fn function_of(module: &str) -> &str {
    let Some(rest) = module.strip_prefix("a_inference_").or_else(|| module.strip_prefix("__inference_"))
    else {
        return module;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let function = rest.split("__").next().unwrap_or(rest);
    function
        .rsplit_once('_')
        .filter(|(name, number)| !name.is_empty() && is_number(number))
        .map_or(module, |(name, _)| name)
}

fn label(entry: &HloModule) -> String {
    let stage = entry.stage.as_ref().filter(|stage| !stage.name.is_empty());
    stage.map_or_else(|| entry.label(), |stage| format!("{}@{}", entry.label(), stage.name))
}

/// The modules of the hosts and modules that a scope names, with those that cannot be decoded left out: of several hosts each
/// has its own copy.
///
/// # Errors
/// [`Error::Nothing`] where there is none.
pub fn in_scope<'p>(profile: &'p Profile, scope: &Scope) -> Result<Vec<Program<'p>>, Error> {
    let is_meant = |entry: &&HloModule| {
        let host = profile.hosts.get(entry.host.0 as usize).map_or("", |host| host.name.as_str());
        (scope.hosts.is_empty() || scope.hosts.iter().any(|name| name == host))
            && (scope.modules.is_empty()
                || scope.modules.iter().any(|word| entry.name.contains(word.as_str())))
    };
    let entries: Vec<_> = profile.modules.iter().filter(is_meant).collect();
    let decoded: Vec<_> = entries
        .par_iter()
        .map(stop::carried(|entry: &&'p HloModule| (*entry, entry.decode(profile))))
        .collect();
    let mut first_fault = None;
    let mut programs = Vec::with_capacity(decoded.len());
    for (entry, decoded) in decoded {
        match decoded {
            Ok(decoded) => programs.push(Program { entry, decoded }),
            Err(why) => first_fault = first_fault.or_else(|| Some(format!("{}: {why}", entry.label()))),
        }
    }
    if !programs.is_empty() {
        return Ok(programs);
    }
    Err(Error::Nothing(match first_fault {
        Some(fault) => format!("no HLO module can be read ({fault})"),
        None if profile.modules.is_empty() => {
            format!("the profile has no HLO module: {}", fix::KEEP_PROGRAMS.for_run(profile))
        }
        None => "no HLO module in this scope; `haloscope hlo modules` lists those of the run".to_owned(),
    }))
}

/// The module that a word names: its label, name or program id, each also with `@stage` behind it where the run is a dump of
/// several stages. Without a word the one of the scope that ranks highest, of equals the first. A name that several modules
/// have stands for the one of them that ranks highest.
///
/// # Errors
/// [`Error::Usage`] where none has that name, with those that there are; [`Error::Nothing`] where there is no module.
pub fn choose<'p>(
    profile: &'p Profile,
    scope: &Scope,
    word: &str,
    rank: impl Fn(&Program<'p>) -> i64,
) -> Result<Program<'p>, Error> {
    let best = |programs: Vec<Program<'p>>| {
        let mut best: Option<(i64, Program<'p>)> = None;
        for program in programs {
            let rank = rank(&program);
            if best.as_ref().is_none_or(|(highest, _)| rank > *highest) {
                best = Some((rank, program));
            }
        }
        best.map(|(_, program)| program)
    };
    if let Some((name, stage)) = word.split_once('@') {
        return at_stage(profile, name, stage);
    }
    let programs = in_scope(profile, scope)?;
    let known = labels(programs.iter().map(Program::label));
    let named = programs.into_iter().filter(|p| word.is_empty() || is_named(p.entry, word)).collect();
    best(named).ok_or_else(|| Error::Usage(format!("no HLO module `{word}`; there are: {known}")))
}

fn is_named(entry: &HloModule, word: &str) -> bool {
    entry.label() == word || entry.name == word || entry.program_id.is_some_and(|id| id.to_string() == word)
}

fn at_stage<'p>(profile: &'p Profile, name: &str, stage: &str) -> Result<Program<'p>, Error> {
    let is_meant = |entry: &&HloModule| {
        (name.is_empty() || is_named(entry, name))
            && entry.stage.as_ref().is_some_and(|own| own.name == stage)
    };
    let Some(entry) = profile.stages.iter().find(is_meant) else {
        let known = labels(profile.stages.iter().map(label));
        let known =
            if known.is_empty() { "none: the run is not a dump of a compiler".to_owned() } else { known };
        return Err(Error::Usage(format!("no module `{name}@{stage}`; there are: {known}")));
    };
    let decoded = entry.decode(profile);
    let decoded = decoded.map_err(|why| Error::Nothing(format!("{}: {why}", label(entry))))?;
    Ok(Program { entry, decoded })
}

/// At most this many names are listed in a message.
const LISTED: usize = 30;

/// Labels, each once, in order, as words of a message.
fn labels(all: impl Iterator<Item = String>) -> String {
    let mut labels: Vec<String> = all.collect();
    labels.sort_unstable();
    labels.dedup();
    let more = labels.len().saturating_sub(LISTED);
    labels.truncate(LISTED);
    if more > 0 {
        labels.push(format!("and {more} more"));
    }
    labels.join(", ")
}

/// The name that PyTorch on TPUs gives every program that is one kernel (Pallas's own name stands on the op inside): programs of this
/// name are different kernels, and not one function that was compiled again.
const ONE_KERNEL: &str = "tt_jit_custom_kernel";

/// Whether programs of this name need not have anything to do with each other: see [`Program::kernels`] for what each is.
#[must_use]
pub fn is_any_kernel(name: &str) -> bool {
    name == ONE_KERNEL
}

/// Refuses a scope with a word that is in no module's name. Of a run that names no module nothing is known.
///
/// # Errors
/// [`Error::Usage`] with the names that there are.
pub(crate) fn known(profile: &Profile, scope: &Scope) -> Result<(), Error> {
    let is_of_program =
        |word: &&String| profile.modules.iter().any(|module| module.name.contains(word.as_str()));
    let Some(word) = scope.modules.iter().find(|word| !is_of_program(word)) else { return Ok(()) };
    // What ran may have another name than what was embedded, or nothing was.
    let selection = Selection::resolve(profile, &Scope::default()).ok();
    let ran = times(profile, selection.as_ref()).into_iter().map(|time| time.module);
    let names: BTreeSet<String> = profile
        .modules
        .iter()
        .map(|module| module.name.clone())
        .chain(ran)
        .filter(|n| !n.is_empty())
        .collect();
    if names.is_empty() || names.iter().any(|name| name.contains(word.as_str())) {
        return Ok(());
    }
    let names = labels(names.into_iter());
    Err(Error::Usage(format!("no HLO module has `{word}` in its name; the run has: {names}")))
}

/// How often and for how long a program ran, summed over devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramTime {
    /// Program id, where the profile states it.
    pub program_id: Option<u64>,
    /// The module's name.
    pub module: String,
    /// Executions.
    pub launches: u64,
    /// Time of all executions, picoseconds.
    pub total_ps: i64,
    /// Devices it ran on.
    pub devices: u64,
}

impl ProgramTime {
    /// Whether this is the time of a module: of the same program id or, where one of both has none, of the same name.
    #[must_use]
    pub fn is_of(&self, entry: &HloModule) -> bool {
        is_of(entry, self.program_id, &self.module)
    }

    /// Whether this is the time of the program that an op names: by the same rule.
    #[must_use]
    pub fn is_named(&self, program_id: Option<u64>, module: &str) -> bool {
        match (self.program_id, program_id) {
            (Some(own), Some(other)) => own == other,
            _ => self.module == module,
        }
    }
}

/// Whether what ran under a program id and in a module of this name is a module of the run: of the same program id or, where
/// one of both has none, of the same name.
#[must_use]
pub fn is_of(entry: &HloModule, program_id: Option<u64>, module: &str) -> bool {
    match (program_id, entry.program_id) {
        (Some(own), Some(other)) => own == other,
        _ => module == entry.name,
    }
}

/// The programs that ran on the devices and in the time that a scope selects, longest first; none where it selects nothing, as
/// in a run without events.
#[must_use]
pub fn times(profile: &Profile, selection: Option<&Selection<'_>>) -> Vec<ProgramTime> {
    let Some(selection) = selection else { return Vec::new() };
    let of_device = |position: usize| {
        let mut launches = launches::of(profile, selection.devices[position]);
        if let Some(window) = selection.window(position) {
            launches.retain(|launch| window.overlap(launch.start_ps, launch.end_ps) > 0);
        }
        launches
    };
    let parts: Vec<_> = (0..selection.devices.len()).into_par_iter().map(stop::carried(of_device)).collect();
    let mut sums: BTreeMap<(Option<u64>, String), ProgramTime> = BTreeMap::new();
    for part in parts {
        let mut seen = BTreeSet::new();
        for launch in part {
            let key = (launch.program_id, launch.module);
            let is_new = seen.insert(key.clone());
            let (program_id, module) = key.clone();
            let time = ProgramTime { program_id, module, launches: 0, total_ps: 0, devices: 0 };
            let sum = sums.entry(key).or_insert(time);
            sum.launches += 1;
            sum.devices += u64::from(is_new);
            sum.total_ps = sum.total_ps.saturating_add(launch.end_ps.saturating_sub(launch.start_ps));
        }
    }
    let mut times: Vec<ProgramTime> = sums.into_values().collect();
    times.sort_by_key(|time| std::cmp::Reverse(time.total_ps));
    times
}

/// Ranks modules for [`choose`]: by the time that they took on the devices or, where the run says nothing of time, by their
/// number of instructions.
pub fn by_time(profile: &Profile, selection: Option<&Selection<'_>>) -> impl Fn(&Program<'_>) -> i64 + use<> {
    let times = times(profile, selection);
    move |program| {
        if times.is_empty() {
            return i64::try_from(program.decoded.module.instructions().len()).unwrap_or(i64::MAX);
        }
        let own = times.iter().filter(|time| time.is_of(program.entry));
        own.fold(0, |sum, time| sum.saturating_add(time.total_ps))
    }
}

#[cfg(test)]
mod tests {
    use super::function_of;

    #[test]
    fn traces_of_a_tensorflow_function_are_of_one_function() {
        let named = "a_inference_train_step_101__XlaMustCompile_true_config_proto_13561319589895757934_.5";
        assert_eq!(function_of(named), "train_step");
        assert_eq!(function_of("a_inference_one_step_on_data_1308__.10"), "one_step_on_data");
        for other in ["jit_step", "a_inference_", "a_inference_step", "jit_a_inference_step_5"] {
            assert_eq!(function_of(other), other);
        }
    }
}

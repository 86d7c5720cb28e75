//! Compilations that the host's timeline shows inside the capture.

use std::collections::BTreeMap;

use super::intervals::Intervals;
use haloscope_profile::{HostId, PlaneKind, Profile};

/// Events of one name on one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileEvents {
    /// The event's name, without what stands behind `#`.
    pub name: String,
    /// The host.
    pub host: HostId,
    /// How many.
    pub count: u64,
    /// Time of all of them, picoseconds.
    pub total_ps: i64,
    /// The longest, picoseconds.
    pub longest_ps: i64,
    /// When the first begins, picoseconds from the start of the run.
    pub first_ps: i64,
}

/// All compile events of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compilations {
    /// By host and name, longest first.
    pub events: Vec<CompileEvents>,
    /// Time in which some thread of a host compiles, summed over hosts: events inside one another count once.
    pub busy_ps: i64,
    /// The part of it that lies in a call of a jitted function, by the name that its program has.
    programs: BTreeMap<String, i64>,
    /// The part of which nothing says for which program it is.
    unnamed_ps: i64,
}

impl Compilations {
    /// Time in which some thread of a host compiles programs of this name, picoseconds, summed over hosts; `None` where some
    /// compilation does not say what it is for and none says that it is for these.
    #[must_use]
    pub fn of_program(&self, name: &str) -> Option<i64> {
        self.programs.get(name).copied().or((self.unnamed_ps == 0).then_some(0))
    }
}

/// The name of the program that a call of a jitted function compiles: `jit_step` of `PjitFunction(step)`. JAX keeps letters,
/// digits and `_` of a function's name.
fn program_of_call(name: &str) -> Option<String> {
    let function = name.strip_prefix("PjitFunction(")?.strip_suffix(')')?;
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    Some(format!("jit_{}", function.chars().map(kept).collect::<String>()))
}

/// Functions of compilers' clients and of frameworks that compile a program or trace one. Whole names, so that an op called
/// `compile_stats` is none.
const FUNCTIONS: [&str; 15] = [
    "backend_compile",
    "backend_compile_and_load",
    "compile_or_get_cached",
    "_compile_and_write_cache",
    "Compile",
    "CompileAndLoad",
    "CompileAheadOfTime",
    "CompileXlaComputation",
    "CompileToExecutable",
    "RunBackend",
    "RunHloPasses",
    "XlaCompile",
    "XlaCompileOp",
    "XlaCompileOnDemand",
    "tf.function-graph_building",
];

/// Whether an event of this name is a compilation: `backend_compile`, `TfrtCpuClient::Compile`,
/// `$compiler.py:305 backend_compile`.
#[must_use]
pub fn is_compilation(name: &str) -> bool {
    let name = name.split_once('#').map_or(name, |(name, _)| name);
    let name = name.split_once('(').map_or(name, |(name, _)| name).trim();
    // Python's tracer writes `$file:line function`.
    let name = if name.starts_with('$') { name.rsplit_once(' ').map_or(name, |(_, f)| f) } else { name };
    let name = name.rsplit_once("::").map_or(name, |(_, function)| function);
    FUNCTIONS.contains(&name)
}

/// Finds them on the threads of the hosts that `takes`.
#[must_use]
pub fn find(profile: &Profile, takes: impl Fn(HostId) -> bool) -> Compilations {
    let mut rows: BTreeMap<(HostId, String), CompileEvents> = BTreeMap::new();
    let mut spans: BTreeMap<HostId, Vec<(i64, i64)>> = BTreeMap::new();
    let mut named: BTreeMap<(HostId, String), Vec<(i64, i64)>> = BTreeMap::new();
    for plane in
        profile.planes.iter().filter(|plane| matches!(plane.kind, PlaneKind::Host | PlaneKind::OtherHost))
    {
        if !takes(plane.host) {
            continue;
        }
        let source = profile.source_of(plane);
        let label = |meta: usize| plane.meta_label(source, u32::try_from(meta).unwrap_or(0));
        let compiles: Vec<bool> = (0..plane.metas.len()).map(|meta| is_compilation(&label(meta))).collect();
        if !compiles.contains(&true) {
            continue;
        }
        let calls: Vec<Option<String>> =
            (0..plane.metas.len()).map(|meta| program_of_call(&label(meta))).collect();
        for line in profile.lines_of(plane.id) {
            // Calls that are open: events come by start, those around before those inside.
            let mut open: Vec<(i64, &str)> = Vec::new();
            for event in profile.events(line).iter() {
                while open.last().is_some_and(|(end_ps, _)| *end_ps <= event.start_ps) {
                    open.pop();
                }
                if let Some(Some(program)) = calls.get(event.meta as usize) {
                    open.push((event.end_ps, program));
                }
                if compiles.get(event.meta as usize) != Some(&true) {
                    continue;
                }
                if let Some((_, program)) = open.iter().rev().find(|(end_ps, _)| *end_ps >= event.end_ps) {
                    let of_program = named.entry((plane.host, (*program).to_owned())).or_default();
                    of_program.push((event.start_ps, event.end_ps));
                }
                let name = label(event.meta as usize);
                let name = name.split_once('#').map_or(&*name, |(name, _)| name).to_owned();
                let length = event.end_ps - event.start_ps;
                let row = rows.entry((plane.host, name.clone())).or_insert(CompileEvents {
                    name,
                    host: plane.host,
                    count: 0,
                    total_ps: 0,
                    longest_ps: 0,
                    first_ps: event.start_ps,
                });
                row.count += 1;
                row.total_ps = row.total_ps.saturating_add(length);
                row.longest_ps = row.longest_ps.max(length);
                row.first_ps = row.first_ps.min(event.start_ps);
                spans.entry(plane.host).or_default().push((event.start_ps, event.end_ps));
            }
        }
    }
    let mut events: Vec<CompileEvents> = rows.into_values().collect();
    events.sort_by_key(|row| std::cmp::Reverse(row.total_ps));
    let mut found = Compilations { events, ..Compilations::default() };
    for (host, spans) in spans {
        let all = Intervals::union_of(spans);
        let mut known = Intervals::default();
        for ((_, program), spans) in named.range((host, String::new())..).take_while(|(key, _)| key.0 == host)
        {
            let own = Intervals::union_of(spans.clone());
            let ps = found.programs.entry(program.clone()).or_default();
            *ps = ps.saturating_add(own.length());
            known = known.union(&own);
        }
        found.busy_ps = found.busy_ps.saturating_add(all.length());
        found.unnamed_ps = found.unnamed_ps.saturating_add(all.minus(&known).length());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{is_compilation, program_of_call};

    #[test]
    fn a_call_says_which_program_is_compiled() {
        assert_eq!(program_of_call("PjitFunction(step)").as_deref(), Some("jit_step"));
        assert_eq!(program_of_call("PjitFunction(<lambda>)").as_deref(), Some("jit__lambda_"));
        assert_eq!(program_of_call("$pjit.py:300 cache_miss"), None);
    }

    #[test]
    fn compilations_are_told_by_whole_names() {
        for name in [
            "backend_compile",
            "TfrtCpuClient::Compile",
            "TfrtTpuCompiler::Compile",
            "$compiler.py:305 backend_compile",
            "XlaCompile#name=f#",
            "PjRtCApiClient::CompileAndLoad",
        ] {
            assert!(is_compilation(name), "{name}");
        }
        for name in ["XDB_COMPILER_METADATA", "PjitFunction(compile_step)", "compile_stats", "fusion.1", ""] {
            assert!(!is_compilation(name), "{name}");
        }
    }
}

//! Compilations that the host's timeline shows inside the capture.

use std::collections::BTreeMap;

use super::intervals::Intervals;
use haloscope_profile::{HostId, PlaneKind, Profile};
use haloscope_report::units;

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
}

/// Functions of compilers' clients and of frameworks that compile a program. Whole names, so that an op called
/// `compile_stats` is none.
const FUNCTIONS: [&str; 14] = [
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
        for line in profile.lines_of(plane.id) {
            let is_one = |event: &haloscope_profile::Event| compiles.get(event.meta as usize) == Some(&true);
            for event in profile.events(line).iter().filter(is_one) {
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
    let busy_ps = units::sum(spans.into_values().map(|spans| Intervals::union_of(spans).length()));
    Compilations { events, busy_ps }
}

#[cfg(test)]
mod tests {
    use super::is_compilation;

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

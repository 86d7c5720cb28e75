//! `hlo modules`: which programs a run has, and whether they are one compiled step or a thousand little ones.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::variants::Difference;
use haloscope_hlo::{Module, Opcode};

use haloscope_profile::{HostId, Profile};
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Cell, Finding, Notes, Report, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::compilations::{self, Compilations};
use haloscope_time::fix;
use haloscope_time::programs::{self, Program, ProgramTime};
use haloscope_time::select::Scoped;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "hlo modules",
    label: "Modules",
    group: MenuGroup::Programs,
    question: "Which programs did the compiler build, were any built twice, and is this one compiled step or eager execution?",
    params: &[],
    needs: &[
        "HLO modules in the profile, or a compiled program",
        "for recompilations in the capture: host events",
    ],
    reads: &[Input::Profile, Input::Program],
    example: "hlo modules logs",
    also: &[],
    run: Run::Of(run),
};

/// Instructions that do something, up to which a program is taken for a single op run eagerly.
const SMALL: usize = 8;

/// What is known of a program.
struct Row<'p> {
    name: String,
    program_id: Option<u64>,
    hosts: Vec<HostId>,
    module: Option<&'p Module>,
    fingerprint: Option<u64>,
    stage: String,
    launches: Option<u64>,
    time_ps: Option<i64>,
}

impl Row<'_> {
    fn is_small(&self) -> bool {
        self.module.is_some_and(|module| {
            let works = |opcode| {
                !matches!(
                    opcode,
                    Opcode::Parameter
                        | Opcode::Constant
                        | Opcode::Tuple
                        | Opcode::GetTupleElement
                        | Opcode::Bitcast
                )
            };
            module.instructions().filter(|(_, hlo)| works(hlo.opcode)).take(SMALL + 1).count() <= SMALL
        })
    }

    /// The kernels that it calls, by XLA's names, the first ones; unknown where it is not held. What PyTorch calls
    /// `tt_jit_custom_kernel(fingerprint)` is known by them.
    fn kernels(&self) -> Cell {
        const NAMED: usize = 4;
        let Some(module) = self.module else { return Cell::Unknown };
        let all = programs::kernels(module);
        if all.is_empty() {
            return Cell::from("none");
        }
        let mut words: Vec<String> = all.iter().take(NAMED).map(|name| (*name).to_owned()).collect();
        if all.len() > NAMED {
            words.push(format!("and {} more", all.len() - NAMED));
        }
        Cell::words(&words.join(", "))
    }

    /// What programs of the same name share, where that says that they are of one function: of kernels of PyTorch the kernel's name,
    /// without its number.
    fn function(&self) -> &str {
        let kernel = self.module.filter(|_| programs::is_any_kernel(&self.name)).map(programs::kernels);
        let Some(name) = kernel.and_then(|all| all.first().copied()) else { return "" };
        name.rsplit_once('.')
            .filter(|(_, n)| n.chars().all(|c| c.is_ascii_digit()))
            .map_or(name, |(base, _)| base)
    }

    fn whiles(&self) -> usize {
        self.module.map_or(0, |module| count(module, Opcode::While))
    }
}

fn count(module: &Module, opcode: Opcode) -> usize {
    module.instructions().filter(|(_, hlo)| hlo.opcode == opcode).count()
}

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let times = programs::times(profile, asked.selection().ok());
    let held = match programs::in_scope(profile, scope) {
        Ok(held) => held,
        // Programs that ran are known by name even where the profile holds none of them.
        Err(error) if times.is_empty() => return Err(error),
        Err(_) => {
            notes.add(
                "no_hlo",
                Severity::Warning,
                "the profile has none of the programs that ran",
                "their contents are unknown",
                fix::KEEP_PROGRAMS.for_run(profile),
            );
            Vec::new()
        }
    };
    let mut rows = rows(&held, &times);
    rows.sort_by_key(|row| {
        let size = row.module.map_or(0, |module| module.instructions().len());
        std::cmp::Reverse((row.time_ps, size))
    });
    let verdict = Verdict::of(&rows);
    let takes = |host: HostId| {
        let name = profile.hosts.get(host.index()).map_or("", |host| host.name.as_str());
        scope.hosts.is_empty() || scope.hosts.iter().any(|wanted| wanted == name)
    };
    let compiled = compilations::find(profile, takes);
    let variants = variants(&rows, &compiled);
    let findings = findings(profile, &verdict, &variants, &compiled);
    let values = values(&rows, &verdict, &variants, &compiled, profile.is_program());
    let tables =
        vec![table(profile, &rows), variant_table(profile, &variants), compile_table(profile, &compiled)];
    Ok(Report { values, tables, findings, ..Report::default() })
}

/// One row for each distinct program, whichever hosts hold it.
fn rows<'p>(held: &[Program<'p>], times: &[ProgramTime]) -> Vec<Row<'p>> {
    let fingerprints: Vec<u64> =
        held.par_iter().map(|program| program.decoded.module.structural_fingerprint()).collect();
    let mut rows: Vec<Row<'p>> = Vec::new();
    let mut row_of: BTreeMap<(&str, Option<u64>, u64, &str), usize> = BTreeMap::new();
    for (program, fingerprint) in held.iter().zip(fingerprints) {
        let entry = program.entry;
        let stage = entry.stage.as_ref().map_or("", |stage| stage.name.as_str());
        let key = (entry.name.as_str(), entry.program_id, fingerprint, stage);
        let at = *row_of.entry(key).or_insert(rows.len());
        if at == rows.len() {
            rows.push(Row {
                name: entry.name.clone(),
                program_id: entry.program_id,
                hosts: Vec::new(),
                module: Some(&program.decoded.module),
                fingerprint: Some(fingerprint),
                stage: stage.to_owned(),
                launches: None,
                time_ps: None,
            });
        }
        if !rows[at].hosts.contains(&entry.host) {
            rows[at].hosts.push(entry.host);
        }
    }
    for time in times {
        let is_of = |program: &&Program<'_>| time.is_of(program.entry);
        let known = held.iter().find(is_of).and_then(|program| {
            rows.iter()
                .position(|row| row.name == program.entry.name && row.program_id == program.entry.program_id)
        });
        let at = known.unwrap_or_else(|| {
            rows.push(Row {
                name: time.module.clone(),
                program_id: time.program_id,
                hosts: Vec::new(),
                module: None,
                fingerprint: None,
                stage: String::new(),
                launches: None,
                time_ps: None,
            });
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.launches = Some(row.launches.unwrap_or(0) + time.launches);
        row.time_ps = Some(row.time_ps.unwrap_or(0).saturating_add(time.total_ps));
    }
    rows
}

/// How a framework ran the model, by how many programs there are.
struct Verdict {
    word: &'static str,
    programs: usize,
    small: usize,
    small_launches: u64,
    launches: u64,
}

impl Verdict {
    fn of(rows: &[Row<'_>]) -> Self {
        // Hosts run the same programs; one that holds less than another says less.
        let mut per_host: BTreeMap<HostId, usize> = BTreeMap::new();
        for host in rows.iter().flat_map(|row| &row.hosts) {
            *per_host.entry(*host).or_default() += 1;
        }
        let without_host = rows.iter().filter(|row| row.hosts.is_empty()).count();
        let programs = per_host.values().max().copied().unwrap_or(0) + without_host;
        let small = rows.iter().filter(|row| row.is_small()).count();
        let launches = |rows: &mut dyn Iterator<Item = &Row<'_>>| rows.filter_map(|row| row.launches).sum();
        let loops = rows.first().is_some_and(|row| row.whiles() > 0);
        let mostly_small = small * 2 > rows.len();
        let word = match programs {
            0..=3 if loops => "one compiled step with a loop inside",
            0..=3 => "one compiled step",
            4..=9 => "a few compiled programs",
            10..=50 if mostly_small => "regions, most of them single ops",
            10..=50 => "regions",
            _ if mostly_small && programs > 100 => "eager",
            _ => "many programs",
        };
        Self {
            word,
            programs,
            small,
            small_launches: launches(&mut rows.iter().filter(|row| row.is_small())),
            launches: launches(&mut rows.iter()),
        }
    }
}

/// Programs that share a name.
struct Variant<'r> {
    name: &'r str,
    host: HostId,
    programs: usize,
    fingerprints: usize,
    difference: Difference,
    /// Time in which the capture compiled for this name; `None` where nobody can tell.
    compile_ps: Option<i64>,
}

fn variants<'r>(rows: &'r [Row<'_>], compiled: &Compilations) -> Vec<Variant<'r>> {
    let mut of_name: BTreeMap<(&str, &str), Vec<&Row<'_>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.module.is_some()) {
        of_name.entry((&row.name, row.function())).or_default().push(row);
    }
    let mut found = Vec::new();
    for ((name, _), rows) in of_name {
        let Some(host) = rows.first().and_then(|row| row.hosts.first()).copied() else { continue };
        let here: Vec<&&Row<'_>> = rows.iter().filter(|row| row.hosts.contains(&host)).collect();
        if here.len() < 2 {
            continue;
        }
        let mut fingerprints: Vec<_> = here.iter().map(|row| row.fingerprint).collect();
        fingerprints.sort_unstable();
        fingerprints.dedup();
        let modules: Vec<&Module> = here.iter().filter_map(|row| row.module).collect();
        found.push(Variant {
            name,
            host,
            programs: here.len(),
            fingerprints: fingerprints.len(),
            difference: Difference::of(&modules, fingerprints.len()),
            compile_ps: compiled.of_program(name),
        });
    }
    found.sort_by_key(|variant| (std::cmp::Reverse(variant.programs), variant.name));
    found
}

fn host_name(profile: &Profile, host: HostId) -> &str {
    profile.hosts.get(host.index()).map_or("", |host| host.name.as_str())
}

fn table(profile: &Profile, rows: &[Row<'_>]) -> Table {
    let mut table = Vec::new();
    for row in rows {
        let module = row.module;
        let parameters = module.map(|module| module.computation(module.entry()).parameters());
        let bytes = module.zip(parameters).and_then(|(module, parameters)| {
            let of = |p: &haloscope_hlo::InstructionIdx| module.instruction(*p).shape.padded_bytes();
            parameters.iter().try_fold(0u64, |sum, p| sum.checked_add(of(p)?))
        });
        let host = match row.hosts.as_slice() {
            [host] => Cell::from(host_name(profile, *host)),
            _ => Cell::Unknown,
        };
        let mean = row.time_ps.zip(row.launches.and_then(|n| i64::try_from(n).ok()).filter(|n| *n > 0));
        let row = row![
            text("module", "Module", "Name.", row.name.as_str()),
            text(
                "program_id",
                "Program",
                "Program id, as the profiler labels it.",
                row.program_id.map(|id| id.to_string())
            ),
            duration(
                "time_ps",
                "Time",
                "Time of its executions, summed over devices; unknown without a profile.",
                row.time_ps
            ),
            text(
                "kernels",
                "Kernels",
                "Pallas kernels of TPUs that it calls, by XLA's names, the first four; they identify what PyTorch runs as `tt_jit_custom_kernel(fingerprint)`; `none` if it calls none.",
                row.kernels()
            ),
            count("launches", "Executions", "Executions, summed over devices.", row.launches),
            count(
                "instructions",
                "Instructions",
                "Instructions in all computations; unknown if the profile does not have the module.",
                module.map(|m| m.instructions().len())
            ),
            count("computations", "Computations", "Computations.", module.map(|m| m.computations().len())),
            count("fusions", "Fusions", "Fusion instructions.", module.map(|m| count(m, Opcode::Fusion))),
            count("whiles", "Whiles", "Loops.", module.map(|m| count(m, Opcode::While))),
            count("parameters", "Parameters", "Parameters of the entry.", parameters.map(<[_]>::len)),
            bytes("parameter_bytes", "Their size", "Bytes of these, padding included.", bytes),
            flag(
                "buffers",
                "Buffers",
                "Whether it has its buffer assignment.",
                module.map(|m| m.buffer_assignment.is_some())
            ),
            flag(
                "scheduled",
                "Scheduled",
                "Whether its instructions are in the order in which they run.",
                module.map(Module::is_scheduled)
            ),
            count(
                "partitions",
                "Partitions",
                "Partitions it was compiled for, if it says so.",
                module.and_then(Module::partition_count)
            ),
            count("replicas", "Replicas", "Replicas.", module.and_then(Module::replica_count)),
            text(
                "fingerprint",
                "Fingerprint",
                "Fingerprint of what it computes: equal for programs that differ only in names, ids, metadata and schedule.",
                row.fingerprint.map(|f| format!("{f:016x}"))
            ),
            count(
                "hosts",
                "Hosts",
                "Hosts that have it.",
                (!row.hosts.is_empty()).then_some(row.hosts.len())
            ),
            text("host", "Host", "The host, if only one has it.", host),
            text("stage", "Stage", "Stage of the compilation, for a dump.", Cell::words(&row.stage)),
            duration("mean_ps", "Mean", "Time of one execution.", mean.map(|(time, n)| time / n)),
        ];
        table.push(row);
    }
    Table::of("modules", "Modules", table)
}

fn variant_table(profile: &Profile, variants: &[Variant<'_>]) -> Table {
    let mut rows = Vec::new();
    for variant in variants {
        let row = row![
            text("module", "Module", "Name that several programs share.", variant.name),
            count("programs", "Programs", "Programs of this name on one host.", variant.programs),
            count(
                "fingerprints",
                "Distinct",
                "How many of them differ in what they compute.",
                variant.fingerprints
            ),
            text(
                "differ_in",
                "Differ in",
                "Parameters whose shapes differ, or that only the rest does.",
                variant.difference.words()
            ),
            duration(
                "compile_ps",
                "Compiling",
                "Time in which a thread of a host compiled a function of this name during the capture; unknown if the host's events do not say what they compile.",
                variant.compile_ps
            ),
            text("host", "Host", "The first host that has them.", host_name(profile, variant.host)),
        ];
        rows.push(row);
    }
    Table::of("variants", "Names that several programs share", rows)
}

fn compile_table(profile: &Profile, compiled: &Compilations) -> Table {
    let mut rows = Vec::new();
    for row in &compiled.events {
        let row = row![
            text("event", "Event", "Name of the host event.", row.name.as_str()),
            count("count", "Count", "How many begin in the capture.", row.count),
            duration("total_ps", "Time", "Their time; nested events each count.", row.total_ps),
            duration("longest_ps", "Longest", "The longest.", row.longest_ps),
            duration("first_ps", "First at", "Start of the first, from the start of the run.", row.first_ps),
            text("host", "Host", "The host.", host_name(profile, row.host)),
        ];
        rows.push(row);
    }
    Table::of("compilations", "Compilations inside the capture", rows)
}

fn values(
    rows: &[Row<'_>],
    verdict: &Verdict,
    variants: &[Variant<'_>],
    compiled: &Compilations,
    is_program: bool,
) -> Vec<Value> {
    let count = |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Measured, doc);
    let share = (verdict.launches > 0).then(|| verdict.small_launches as f64 / verdict.launches as f64);
    vec![
        Value::new(
            "execution",
            "Kind of execution",
            Some(verdict.word),
            Unit::None,
            Status::Estimated,
            "By the number of programs on one host: up to 3 is one compiled step, 10 to 50 regions, over 100 mostly single ops is eager. A rule of thumb.",
        ),
        count(
            "programs",
            "Programs",
            verdict.programs,
            "Programs of the host that has the most, including those without a module.",
        ),
        count(
            "modules",
            "Distinct modules",
            rows.iter().filter(|row| row.module.is_some()).count(),
            "Modules that differ in name, program id or fingerprint, over all hosts.",
        ),
        count(
            "small_modules",
            "Of single ops",
            verdict.small,
            "Modules with at most 8 instructions that do work.",
        ),
        Value::new(
            "small_launch_share",
            "Their executions",
            share,
            Unit::Share,
            Status::Derived,
            "Share of all executions of programs; unknown without a profile.",
        ),
        count(
            "recompiled",
            "Names built more than once",
            variants.len(),
            "Names that several programs of one host share.",
        ),
        Value::new(
            "compile_events",
            "Compilations",
            (!is_program).then(|| compiled.events.iter().map(|row| row.count).sum::<u64>()),
            Unit::Count,
            Status::Measured,
            "Events in the capture by which compilers and frameworks mark compilations, including nested ones.",
        ),
        Value::new(
            "compile_ps",
            "Time compiling",
            (!is_program).then_some(compiled.busy_ps),
            Unit::Ps,
            Status::Measured,
            "Time in which some thread of a host compiles, summed over hosts.",
        ),
    ]
}

fn findings(
    profile: &Profile,
    verdict: &Verdict,
    variants: &[Variant<'_>],
    compiled: &Compilations,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    if verdict.word == "eager" {
        findings.push(Finding {
            id: "eager_execution",
            severity: Severity::Warning,
            claim: format!(
                "{} programs on a host, {} of them single ops: this runs eagerly",
                verdict.programs, verdict.small
            ),
            evidence: format!(
                "{} of {} executions are of single ops",
                verdict.small_launches, verdict.launches
            ),
            ceiling: "the time between programs: see the idle time in `haloscope overview`".to_owned(),
            recommendation: fix::ONE_PROGRAM.for_run(profile).to_owned(),
            falsifier: "the device is busy all the time although it runs so many programs".to_owned(),
            status: Status::Estimated,
            ..Finding::default()
        });
    }
    // The name that was compiled longest while the capture ran, else the one with most programs.
    let worst = variants.iter().rev().max_by_key(|one| (one.compile_ps.unwrap_or(0), one.programs));
    findings.extend(worst.map(|worst| built_again(profile, worst, compiled)));
    if compiled.busy_ps > 0 && worst.is_none_or(|worst| worst.compile_ps == Some(0)) {
        findings.push(compiling(compiled));
    }
    findings
}

/// Several programs of one name.
fn built_again(profile: &Profile, worst: &Variant<'_>, compiled: &Compilations) -> Finding {
    let all = units::duration_ps(compiled.busy_ps as f64);
    let (severity, ceiling) = match worst.compile_ps {
        _ if compiled.busy_ps == 0 => {
            (Severity::Info, "the compilations are outside this capture".to_owned())
        }
        Some(0) => (Severity::Info, "its compilations are outside this capture".to_owned()),
        Some(ps) => (
            Severity::Warning,
            format!(
                "{} of compiling for it inside the capture, of {all} for all programs",
                units::duration_ps(ps as f64)
            ),
        ),
        None => (
            Severity::Warning,
            format!(
                "its part of {all} of compiling inside the capture: the host's events do not say for which program"
            ),
        ),
    };
    Finding {
        id: "recompilation",
        severity,
        claim: format!("{} was built {} times", worst.name, worst.programs),
        evidence: format!("the programs differ in {}", worst.difference.words()),
        ceiling,
        recommendation: Difference::fix(Some(&worst.difference)).for_run(profile).to_owned(),
        falsifier: "the programs belong to different functions that happen to share a name".to_owned(),
        status: Status::Derived,
        ..Finding::default()
    }
}

/// Compilations that no name with several programs explains.
fn compiling(compiled: &Compilations) -> Finding {
    Finding {
        id: "compilation_in_capture",
        severity: Severity::Info,
        claim: format!("{} of the capture went into compiling", units::duration_ps(compiled.busy_ps as f64)),
        evidence: compiled
            .events
            .first()
            .map_or_else(String::new, |row| format!("{} x {}", row.count, row.name)),
        ceiling: "this time, but only at the first call".to_owned(),
        recommendation: "start the capture after a few calls".to_owned(),
        falsifier: "the events are also in a later capture: then something is compiled repeatedly".to_owned(),
        status: Status::Measured,
        ..Finding::default()
    }
}

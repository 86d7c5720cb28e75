//! The tables that are small: each is made whole when it is asked for, of what the analyses of Haloscope are made of.

use haloscope_comm::{Communication, Counted};

use haloscope_profile::{Device, LineKind, Profile};
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Table, Unit, row};
use haloscope_time::account::{self, Account, Class};
use haloscope_time::hlo_costs::source_line;
use haloscope_time::launches;
use haloscope_time::ops;
use haloscope_time::select::Selection;
use haloscope_time::steps::StepClass;
use haloscope_timeline::counter_samples;

use crate::runs::{Run, device_word, kind_word};

/// A table that is made whole.
pub(crate) struct Small {
    /// What it is called in SQL.
    pub(crate) name: &'static str,
    /// What a row is.
    pub(crate) doc: &'static str,
    /// Its rows of one run.
    pub(crate) make: fn(&Run) -> Table,
    /// Whether each row is of one file, and the same whatever other files the run has: but for the column `step`.
    pub(crate) is_of_files: bool,
}

/// All of them, in the order in which a person would ask.
pub(crate) static ALL: [Small; 13] = [
    Small { name: "host", doc: "A machine of the run, one file each.", make: host, is_of_files: true },
    Small {
        name: "device",
        doc: "What computes: a TensorCore, a GPU, or a host's CPU if there is neither.",
        make: device,
        is_of_files: true,
    },
    Small {
        name: "line",
        doc: "A stream, a thread, or one of the profiler's views of a device.",
        make: line,
        is_of_files: true,
    },
    Small { name: "step", doc: "A step on a device.", make: step, is_of_files: false },
    Small {
        name: "op",
        doc: "An op of a program on a device, summed over its executions.",
        make: op,
        is_of_files: true,
    },
    Small { name: "launch", doc: "An execution of a program on a device.", make: launch, is_of_files: true },
    Small {
        name: "account",
        doc: "The time of a device in one class: classes are disjoint, and add up to the capture.",
        make: account_of,
        is_of_files: false,
    },
    Small { name: "gap", doc: "An interval in which a device ran no op.", make: gap, is_of_files: false },
    Small {
        name: "collective",
        doc: "An execution of a collective on a device; times in flight, exposed and hidden are those within the counted steps.",
        make: collective,
        is_of_files: false,
    },
    Small {
        name: "counter",
        doc: "A sample of a counter on a line of counters.",
        make: counter,
        is_of_files: true,
    },
    Small { name: "module", doc: "A program whose HLO is in the profile.", make: module, is_of_files: true },
    Small {
        name: "instruction",
        doc: "An instruction of such a program.",
        make: instruction,
        is_of_files: true,
    },
    Small {
        name: "analyses",
        doc: "An analysis that analysis(...) takes.",
        make: analyses,
        is_of_files: false,
    },
];

fn active(profile: &Profile) -> impl Iterator<Item = &Device> {
    profile.devices.iter().filter(|device| device.active)
}

fn host_of<'p>(profile: &'p Profile, device: &Device) -> &'p str {
    &profile.host(device.host).name
}

/// Ids have 64 bits, of which SQL's whole numbers take 63.
fn id(id: Option<u64>) -> Option<String> {
    id.map(|id| id.to_string())
}

fn host(run: &Run) -> Table {
    let profile = &*run.profile;
    let rows = (0_u32..).zip(&profile.hosts).map(|(at, host)| {
        let at = haloscope_profile::HostId(at);
        let source = profile.planes_of(at).next().map(|plane| profile.source_of(plane));
        let planes = profile.planes_of(at);
        let events: u64 =
            planes.flat_map(|plane| profile.lines_of(plane.id)).map(|line| line.event_count).sum();
        row![
            text("host", "Host", "The host's name.", host.name.as_str()),
            text("file", "File", "The file that it was read from.", source.map(|source| run.shown(source))),
            bytes("file_bytes", "File size", "Bytes of the file, unpacked.", source.map(|s| s.bytes().len())),
            count("start_unix_ns", "Start", "Start of the capture, nanoseconds since 1970.", host.start_ns),
            count("stop_unix_ns", "Stop", "End of the capture, nanoseconds since 1970.", host.stop_ns),
            count(
                "devices",
                "Devices",
                "Devices on it that have events.",
                active(profile).filter(|d| d.host == at).count()
            ),
            count(
                "lines",
                "Lines",
                "Lines in its file.",
                profile.planes_of(at).map(|plane| plane.lines.len()).sum::<usize>()
            ),
            count("events", "Events", "Events in its file, as the headers of lines state.", events),
        ]
    });
    Table::of("host", "Hosts", rows)
}

fn device(run: &Run) -> Table {
    let profile = &*run.profile;
    let rows = profile.devices.iter().map(|device| {
        row![
            text("host", "Host", "The host that it belongs to.", host_of(profile, device)),
            text("device", "Device", "Its name.", device.name.as_str()),
            text("kind", "Kind", "TPU, GPU or CPU.", device_word(device.kind)),
            text("type", "Type", "The chip.", device.type_name.as_str()),
            flag("active", "Active", "Whether its plane has events.", device.active),
            rate(
                "peak_flops",
                "Peak FLOP/s",
                Unit::FlopRate,
                "Most FLOP/s with 16-bit floats.",
                device.peaks.flops.map(|peak| peak.rate)
            ),
            rate(
                "peak_hbm",
                "Peak HBM",
                Unit::ByteRate,
                "Most bytes a second to and from HBM.",
                device.peaks.hbm.map(|peak| peak.rate)
            ),
            text(
                "peak_source",
                "Source",
                "Source of the peak in FLOP/s: trace, derived, table.",
                device.peaks.flops.map(|peak| peak.source.word())
            ),
        ]
    });
    Table::of("device", "Devices", rows)
}

fn line(run: &Run) -> Table {
    let profile = &*run.profile;
    let rows = profile.lines.iter().map(|line| {
        let plane = profile.plane(line.plane);
        row![
            count("line_id", "Line number", "The line's number in the run.", run.line_number(line)),
            text("host", "Host", "The host whose file has it.", profile.host(plane.host).name.as_str()),
            text(
                "device",
                "Device",
                "The device of its plane; unknown on planes without one.",
                run.device_of(plane.id).map(|device| device.name.as_str())
            ),
            text("plane", "Plane", "The device or host part that it belongs to.", plane.name.as_str()),
            text("line", "Line", "Its name.", line.name.as_str()),
            text(
                "kind",
                "Kind",
                "What it shows: op, async_op, module, step, stream, thread, counter, derived, other.",
                kind_word(line.kind)
            ),
            count("events", "Events", "Events, as the line's header states.", line.event_count),
            bytes("file_bytes", "Bytes", "Bytes of its events in the file.", line.bytes()),
        ]
    });
    Table::of("line", "Lines", rows)
}

fn step(run: &Run) -> Table {
    let profile = &*run.profile;
    // Of one or two steps none can be called usual.
    let counted = run.steps().rows.iter().filter(|step| step.class != StepClass::Edge).count();
    let rows = run.steps().rows.iter().flat_map(|step| {
        step.instances.iter().map(move |at| {
            let device = profile.device(at.device);
            row![
                text("host", "Host", "The device's host.", host_of(profile, device)),
                text("device", "Device", "Device.", device.name.as_str()),
                count(
                    "step",
                    "Step",
                    "The marker's number; counted from 0 if steps are inferred.",
                    step.number
                ),
                text("name", "Name", "The marker's name.", Cell::words(&step.name)),
                text(
                    "class",
                    "Class",
                    "steady, warm-up, edge or outlier, for the whole run; unknown with two steps or fewer.",
                    (counted > 2).then(|| step.class.word())
                ),
                duration("start_ps", "Start", "On the run's clock.", at.start_ps),
                duration("end_ps", "End", "On the run's clock.", at.end_ps),
                duration("dur_ps", "Time", "By the device's own clock if it recorded one.", at.duration_ps),
            ]
        })
    });
    Table::of("step", "Steps", rows)
}

/// What a scope of one device selects; nothing of one without events.
fn only<'p>(profile: &'p Profile, device: &Device) -> Option<Selection<'p>> {
    let scope = Scope { devices: vec![device.name.clone()], ..Scope::default() };
    Selection::resolve(profile, &scope).ok()
}

fn op(run: &Run) -> Table {
    let profile = &*run.profile;
    let rows = active(profile).flat_map(|device| {
        let ops = only(profile, device).map(|only| ops::collect(profile, &only)).unwrap_or_default();
        ops.into_iter().map(move |op| {
            row![
                text("host", "Host", "The device's host.", host_of(profile, device)),
                text("device", "Device", "Device.", device.name.as_str()),
                text("op", "Op", "The HLO instruction or kernel.", &*op.meta.name),
                text("category", "Category", "Its category.", Cell::words(&op.meta.category)),
                text("module", "Module", "Its program.", Cell::words(&op.module)),
                text(
                    "program_id",
                    "Program",
                    "The program's id, as text: ids have 64 bits.",
                    id(op.meta.program_id)
                ),
                text(
                    "framework_op",
                    "Framework op",
                    "The scope path in the framework.",
                    Cell::words(&op.meta.framework_op)
                ),
                text(
                    "source",
                    "Source",
                    "File and line in the user's program.",
                    Cell::words(&op.meta.source)
                ),
                count("occurrences", "Executions", "Executions.", op.occurrences),
                duration("total_ps", "Total", "Time of all executions, nested ops included.", op.total_ps),
                duration("self_ps", "Self time", "Time minus that of ops directly inside.", op.self_ps),
                float(
                    "flops",
                    "FLOPs",
                    Unit::Flop,
                    "FLOPs of all executions; for while, call and conditional, those of the ops inside.",
                    op.flops
                ),
                float(
                    "model_flops",
                    "Model FLOPs",
                    Unit::Flop,
                    "FLOPs of all executions as the model is written.",
                    op.model_flops
                ),
                float("bytes", "Bytes", Unit::Bytes, "Bytes accessed in all memories.", op.bytes),
                float("hbm_bytes", "HBM bytes", Unit::Bytes, "Bytes to and from HBM.", op.hbm_bytes),
            ]
        })
    });
    Table::of("op", "Ops", rows)
}

fn launch(run: &Run) -> Table {
    let profile = &*run.profile;
    let rows = active(profile).flat_map(|device| {
        let spans = run.spans(device);
        launches::of(profile, device).into_iter().map(move |launch| {
            let step = spans.iter().find(|s| s.start_ps <= launch.start_ps && launch.start_ps < s.end_ps);
            row![
                text("host", "Host", "The device's host.", host_of(profile, device)),
                text("device", "Device", "Device.", device.name.as_str()),
                text("module", "Module", "The program.", Cell::words(&launch.module)),
                text(
                    "program_id",
                    "Program",
                    "The program's id, as text: ids have 64 bits.",
                    id(launch.program_id)
                ),
                count("step", "Step", "The step in which it starts.", step.map(|span| span.number)),
                duration("start_ps", "Start", "On the run's clock.", launch.start_ps),
                duration("end_ps", "End", "On the run's clock.", launch.end_ps),
                duration(
                    "dur_ps",
                    "Time",
                    "How long it took.",
                    launch.end_ps.saturating_sub(launch.start_ps)
                ),
            ]
        })
    });
    Table::of("launch", "Launches", rows)
}

fn accounts(profile: &Profile) -> Vec<Account> {
    let all = Selection::resolve(profile, &Scope::default());
    let accounts = all.map(|selection| account::of_selection(profile, &selection)).unwrap_or_default();
    accounts.into_iter().flatten().collect()
}

fn account_of(run: &Run) -> Table {
    let profile = &*run.profile;
    let rows = accounts(profile).into_iter().flat_map(|account| {
        let device = profile.device(account.device);
        let times = account.times(None);
        Class::ALL.into_iter().map(move |class| {
            row![
                text("host", "Host", "The device's host.", host_of(profile, device)),
                text("device", "Device", "Device.", device.name.as_str()),
                text("class", "Class", "The class of the time, as in `idle`.", class.phrase()),
                text(
                    "class_group",
                    "Group",
                    "idle: no op runs; waiting: an op runs that waits or moves data; working: any other op.",
                    class.group().word()
                ),
                duration("time_ps", "Time", "Time of the capture in this class.", times.of(class)),
            ]
        })
    });
    Table::of("account", "Account", rows)
}

fn gap(run: &Run) -> Table {
    let profile = &*run.profile;
    let rows = accounts(profile).into_iter().flat_map(|account| {
        let device = profile.device(account.device);
        let gaps = account.gaps(None);
        gaps.into_iter().map(move |gap| {
            let (before, after) = account.around(&gap);
            let name =
                |launch: Option<&launches::Launch>| Cell::words(launch.map_or("", |l| l.module.as_str()));
            row![
                text("host", "Host", "The device's host.", host_of(profile, device)),
                text("device", "Device", "Device.", device.name.as_str()),
                text("class", "Class", "The class of most of it, as in `idle`.", gap.class.phrase()),
                duration("start_ps", "Start", "On the run's clock.", gap.start_ps),
                duration("end_ps", "End", "On the run's clock.", gap.end_ps),
                duration("dur_ps", "Time", "How long no op ran.", gap.end_ps - gap.start_ps),
                text("after", "After", "The program before the gap, or around it.", name(before)),
                text("before", "Before", "The program after the gap, or around it.", name(after)),
            ]
        })
    });
    Table::of("gap", "Gaps", rows)
}

fn collective(run: &Run) -> Table {
    let profile = &*run.profile;
    let scope = Scope::default();
    let selection = Selection::resolve(profile, &scope);
    let found = selection.as_ref().map(|selection| {
        let counted = Counted::of(profile, selection, run.steps(), &scope);
        Communication::of(profile, selection, &counted).collectives
    });
    let rows = found.unwrap_or_default().into_iter().flat_map(|one| {
        let executions = one.executions.clone();
        executions.into_iter().map(move |at| {
            let device = profile.device(at.device);
            row![
                text("host", "Host", "The device's host.", host_of(profile, device)),
                text("device", "Device", "Device.", device.name.as_str()),
                text("op", "Op", "The collective; for an asynchronous one, its start.", &*one.meta.name),
                text("kind", "Kind", "What it does: all-reduce, all-gather, reduce-scatter, all-to-all, collective-permute, send.", &*one.kind),
                text("module", "Module", "Its program.", Cell::words(&one.module)),
                float("bytes", "Bytes", Unit::Bytes, "The size of one device's message.", one.bytes),
                duration("start_ps", "Start", "When its first op started, on the run's clock.", at.start_ps),
                duration("end_ps", "End", "When its last op ended.", at.end_ps),
                duration("inflight_ps", "In flight", "How long it was in flight in the counted steps.", at.inflight_ps),
                duration("exposed_ps", "Exposed", "How long the core waited in its ops and computed nothing, in the counted steps.", at.exposed_ps),
                duration("hidden_ps", "Hidden", "How long it was in flight while the core computed or copied, in the counted steps.", at.hidden_ps),
            ]
        })
    });
    Table::of("collective", "Collectives", rows)
}

fn counter(run: &Run) -> Table {
    let profile = &*run.profile;
    let lines = profile.lines.iter().filter(|line| line.kind == LineKind::Counters && line.event_count > 0);
    let rows = lines.flat_map(|line| {
        let plane = profile.plane(line.plane);
        let device = run.device_of(plane.id).map(|device| device.name.as_str());
        counter_samples(profile, line).into_iter().flat_map(move |counter| {
            let (name, unit) = (counter.name, counter.unit);
            counter.samples.into_iter().map(move |(at, value)| {
                row![
                    text(
                        "host",
                        "Host",
                        "The host whose file has it.",
                        profile.host(plane.host).name.as_str()
                    ),
                    text("device", "Device", "The device that its plane shows.", device),
                    text("counter", "Counter", "The counter's name.", name.as_str()),
                    duration("time_ps", "Time", "On the run's clock.", at),
                    quantity("value", "Value", "What was counted.", value),
                    text(
                        "unit",
                        "Unit",
                        "The value's unit, if the counter's name says it.",
                        Cell::words(unit)
                    ),
                ]
            })
        })
    });
    Table::of("counter", "Counters", rows)
}

fn module(run: &Run) -> Table {
    let profile = &*run.profile;
    let rows = profile.modules.iter().map(|module| {
        let decoded = module.decode(profile);
        row![
            text("host", "Host", "The host whose file has it.", profile.host(module.host).name.as_str()),
            text("module", "Module", "The program's name.", module.name.as_str()),
            text(
                "program_id",
                "Program",
                "The program's id, as text: ids have 64 bits.",
                id(module.program_id)
            ),
            count(
                "instructions",
                "Instructions",
                "Instructions in all of its computations.",
                decoded.ok().map(|d| d.module.instructions().len())
            ),
            bytes("file_bytes", "Bytes", "Bytes of its proto in the file.", module.proto.len),
            text("error", "Error", "Why it could not be read; unknown if it could.", decoded.err()),
        ]
    });
    Table::of("module", "Modules", rows)
}

fn instruction(run: &Run) -> Table {
    let profile = &*run.profile;
    let rows = profile.modules.iter().flat_map(|module| {
        let decoded = module.decode(profile).ok();
        decoded.into_iter().flat_map(move |decoded| {
            decoded.module.instructions().map(move |(at, one)| {
                let cost = decoded.costs.instruction(at);
                let about = one.metadata.as_deref();
                row![
                    text(
                        "host",
                        "Host",
                        "The host whose file has it.",
                        profile.host(module.host).name.as_str()
                    ),
                    text("module", "Module", "The program's name.", module.name.as_str()),
                    text(
                        "program_id",
                        "Program",
                        "The program's id, as text: ids have 64 bits.",
                        id(module.program_id)
                    ),
                    text("instruction", "Instruction", "Its name, without %.", one.name.as_str()),
                    text("opcode", "Opcode", "What it does.", one.opcode_name()),
                    text(
                        "computation",
                        "Computation",
                        "The computation around it.",
                        decoded.module.computation(one.computation).name.as_str()
                    ),
                    text("shape", "Shape", "The shape of its result.", one.shape.to_string()),
                    count(
                        "flops",
                        "FLOPs",
                        "FLOPs of one execution, as XLA's cost analysis counts them.",
                        cost.flops
                    ),
                    bytes(
                        "bytes",
                        "Bytes",
                        "Bytes that one execution reads and writes, likewise.",
                        cost.bytes_accessed
                    ),
                    text(
                        "framework_op",
                        "Framework op",
                        "The scope path in the framework.",
                        about.and_then(|m| m.op_name.as_deref())
                    ),
                    text(
                        "source",
                        "Source",
                        "File and line in the user's program.",
                        about.map_or(Cell::Unknown, |m| Cell::words(&source_line(&decoded.module, m)))
                    ),
                ]
            })
        })
    });
    Table::of("instruction", "Instructions", rows)
}

fn analyses(_: &Run) -> Table {
    let rows = haloscope_analyses::ALL.iter().map(|analysis| {
        let params: Vec<&str> = analysis.params.iter().map(|param| param.id).collect();
        row![
            text("analysis", "Analysis", "Its id: the first argument of analysis(...).", analysis.id),
            text("question", "Question", "What it answers.", analysis.question),
            text(
                "parameters",
                "Parameters",
                "What it takes as 'key=value'.",
                Cell::words(&params.join(", "))
            ),
        ]
    });
    Table::of("analyses", "Analyses", rows)
}

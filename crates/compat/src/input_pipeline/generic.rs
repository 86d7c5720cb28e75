//! The analysis of a run on GPUs, or on hosts alone.

use haloscope_profile::{HostId, Profile};

use super::Analysis;
use super::host::{self, InputTimes};
use super::words::{self, Verdict};
use crate::db::Hardware;
use crate::gviz::{Cell, DataTable, Kind};
use crate::steps::environment::hardware_name;
use crate::steps::stat::{Stat, Summary, fixed};
use crate::steps::{Breakdown, Class, GENERIC_CORE, StepDb};

/// What limits the steps. Classes and statements are empty where nothing was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bottleneck {
    pub(crate) input: Verdict,
    pub(crate) collectives: Verdict,
    pub(crate) launch: Verdict,
    pub(crate) other: Verdict,
}

/// Times of a step, milliseconds.
#[derive(Debug, Clone, Default)]
struct Step {
    name: String,
    length: f64,
    compute: f64,
    between: f64,
    collectives: f64,
    host_compute: f64,
    launch: f64,
    wait: f64,
    to_device: f64,
    output: f64,
    unknown: f64,
}

pub(super) fn analyse(profile: &Profile, hosts: &[HostId], hardware: Hardware, db: &StepDb) -> Analysis {
    // All of a host's steps are on one core; of several hosts the first host's count.
    let steps: Vec<Step> = db.rows.iter().filter_map(step).collect();
    let longest = |row: &crate::steps::StepRow| {
        row.cores.values().map(|core| core.duration_ps as f64 / 1e9).fold(0.0, f64::max)
    };
    let step_ms = db.rows.iter().map(longest).collect::<Stat>().summary();
    let mean = |of: fn(&Step) -> f64| steps.iter().map(of).collect::<Stat>().summary();
    let share = if step_ms.average > 0.0 { mean(|s| s.to_device).average / step_ms.average } else { 0.0 };
    let host = host::analyse(profile, hosts, share);
    let bottleneck = Bottleneck::new(&steps, &host.times);
    let mut table = table(&steps);
    table.prop("hardware_type", hardware_name(hardware));
    add_summaries(&mut table, &step_ms, &mean);
    table.prop("input_conclusion", &*bottleneck.input.statement);
    for (name, verdict) in [
        ("device_collectives", &bottleneck.collectives),
        ("kernel_launch", &bottleneck.launch),
        ("all_other", &bottleneck.other),
    ] {
        table.prop(format!("{name}_bottleneck"), &*verdict.statement);
        table.prop(format!("{name}_statement"), &*verdict.statement);
    }
    table.prop("summary_nextstep", words::next_step(bottleneck.input.class, &host.times));
    let total = |of: fn(&Step) -> f64| steps.iter().map(of).fold(0.0, |a, b| a + b);
    let (length, input) = (total(|s| s.length), total(Step::input));
    Analysis {
        steps: table,
        slowest_cores: DataTable::default(),
        host,
        step_ms,
        input_percent: if length > 0.0 { 100.0 * input / length } else { 0.0 },
        bottleneck,
        tpu: None,
    }
}

fn step(row: &crate::steps::StepRow) -> Option<Step> {
    let core = row.cores.get(&GENERIC_CORE)?;
    let Breakdown::Generic(times) = &core.breakdown else { return None };
    let ms = |class| times.get(&class).map_or(0.0, |ps| *ps as f64 / 1e9);
    Some(Step {
        name: if core.name.is_empty() { row.number.to_string() } else { core.name.clone() },
        length: core.duration_ps as f64 / 1e9,
        compute: ms(Class::Compute16) + ms(Class::Compute32),
        between: ms(Class::DeviceToDevice),
        collectives: ms(Class::Collectives),
        host_compute: ms(Class::HostCompute),
        launch: ms(Class::HostPrepare),
        wait: ms(Class::HostWaitInput),
        to_device: ms(Class::HostToDevice),
        output: ms(Class::DeviceToHost),
        unknown: ms(Class::Unknown),
    })
}

impl Step {
    fn input(&self) -> f64 {
        self.wait + self.to_device
    }
}

impl Bottleneck {
    /// No step was measured.
    pub(super) fn unknown() -> Self {
        Self {
            input: Verdict::unknown(),
            collectives: Verdict::no(),
            launch: Verdict::no(),
            other: Verdict::no(),
        }
    }

    fn new(steps: &[Step], times: &InputTimes) -> Self {
        let total = |of: fn(&Step) -> f64| steps.iter().map(of).fold(0.0, |a, b| a + b);
        let length = total(|s| s.length);
        if length == 0.0 {
            return Self::unknown();
        }
        let percent = |of| 100.0 * total(of) / length;
        let other = percent(|s| s.unknown);
        let (input, about_other) = words::input(percent(Step::input), other);
        let mut launch = words::overhead(percent(|s| s.launch), "spent on 'Kernel Launch'.");
        if launch.class != "no" && times.has_pipeline() {
            launch.statement.push_str(
                " It could be due to CPU contention with tf.data. In this case, you may try to set the environment \
                 variable TF_GPU_THREAD_MODE=gpu_private.",
            );
        }
        let collectives =
            words::overhead(percent(|s| s.collectives), "spent on 'Device Collective Communication'.");
        let other = if about_other {
            Verdict::no()
        } else {
            words::overhead(
                other,
                "spent on 'All Others' time. This could be due to Python execution overhead.",
            )
        };
        Self { input, collectives, launch, other }
    }
}

fn table(steps: &[Step]) -> DataTable {
    let mut table = DataTable::new(&[
        ("stepnum", Kind::String, "Step number"),
        ("deviceComputeTimeMs", Kind::Number, "Device compute"),
        ("deviceToDeviceTimeMs", Kind::Number, "Device to device"),
        ("deviceCollectivesTimeMs", Kind::Number, "Device collective communication"),
        ("hostComputeTimeMs", Kind::Number, "Host compute"),
        ("kernelLaunchTimeMs", Kind::Number, "Kernel launch"),
        ("infeedTimeMs", Kind::Number, "Input"),
        ("outfeedTimeMs", Kind::Number, "Output"),
        ("compileTimeMs", Kind::Number, "Compilation"),
        ("otherTimeMs", Kind::Number, "All others"),
        ("tooltip", Kind::String, "tooltip"),
        ("stepTimeMs", Kind::Number, "Step time"),
    ]);
    for column in table.cols.iter_mut().filter(|c| c.id == "tooltip") {
        column.props.push(("role".into(), "tooltip".into()));
    }
    table.prop(
        "step_time_graph_column_ids",
        "stepnum,deviceComputeTimeMs,deviceToDeviceTimeMs,deviceCollectivesTimeMs,hostComputeTimeMs,kernelLaunchTimeMs,\
         infeedTimeMs,outfeedTimeMs,compileTimeMs,otherTimeMs, tooltip",
    );
    for step in steps {
        let parts = [
            ("All others", step.unknown),
            ("Compilation", 0.0),
            ("Output", step.output),
            ("Input", step.input()),
            ("Kernel launch", step.launch),
            ("Host compute", step.host_compute),
            ("Device collectives", step.collectives),
            ("Device to device", step.between),
            ("Device compute", step.compute),
        ];
        let mut tooltip = format!("Step {}, duration: {} ms", step.name, fixed(step.length, 2));
        for (name, ms) in parts {
            tooltip.push_str(&format!("\n-{name}: {} ms", fixed(ms, 2)));
        }
        let mut cells: Vec<Cell> = vec![step.name.as_str().into()];
        cells.extend(
            [
                step.compute,
                step.between,
                step.collectives,
                step.host_compute,
                step.launch,
                step.input(),
                step.output,
                0.0,
                step.unknown,
            ]
            .map(Cell::from),
        );
        cells.extend([tooltip.into(), step.length.into()]);
        table.row(cells);
    }
    table
}

/// A part of a step, milliseconds.
type Part = fn(&Step) -> f64;

fn add_summaries(table: &mut DataTable, step_ms: &Summary, mean: &impl Fn(Part) -> Summary) {
    for (name, value) in [
        ("average", step_ms.average),
        ("standard_deviation", step_ms.deviation),
        ("minimum", step_ms.minimum),
        ("maximum", step_ms.maximum),
    ] {
        table.prop(format!("steptime_ms_{name}"), fixed(value, 1));
    }
    let parts: [(&str, Part); 9] = [
        ("device_compute", |s| s.compute),
        ("device_to_device", |s| s.between),
        ("device_collectives", |s| s.collectives),
        ("infeed", Step::input),
        ("outfeed", |s| s.output),
        ("host_compute", |s| s.host_compute),
        ("kernel_launch", |s| s.launch),
        ("compile", |_| 0.0),
        ("other", |s| s.unknown),
    ];
    for (name, of) in parts {
        let summary = mean(of);
        table.prop(format!("{name}_time_ms_avg"), fixed(summary.average, 1));
        table.prop(format!("{name}_time_ms_sdv"), fixed(summary.deviation, 1));
    }
}

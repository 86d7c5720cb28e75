//! `utilization`: how busy the units of a TPU were, by its hardware counters, and inside of kernels by the counters that the compiler
//! put there.

use rustc_hash::FxHashMap;

use crate::unit_usage::{Chip, Formulas};
use haloscope_profile::{Device, DeviceKind, Profile};
use haloscope_report::Error;
use haloscope_report::{Notes, Report, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::counters;
use haloscope_time::fix::Fix;
use haloscope_time::kernel_units::KernelUnit;
use haloscope_time::quality;
use haloscope_time::select::{Scoped, Selection};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "utilization",
    label: "Utilization",
    group: MenuGroup::Work,
    question: "How busy were the units of the chip (matrix, vector, scalar, memory, links), by its hardware counters and inside kernels?",
    params: &[],
    needs: &[
        "hardware counters of a TPU v6e or v7x (stat counter_value), or lines _counters_ of kernels, which the profiler records only on request",
    ],
    reads: &[Input::Profile],
    example: "utilization logs",
    also: &[],
    run: Run::Of(run),
};

/// Headline values: id, label, the name that the unit begins with.
const HEADLINES: [(&str, &str, &str); 6] = [
    ("mxu_share", "Matrix units busy", "Avg MXU Busy"),
    ("vector_alu_share", "Vector ALUs", "Vector ALUs"),
    ("scalar_share", "Scalar unit", "Scalar Unit"),
    ("hbm_share", "HBM", "HBM Rd+Wr"),
    ("ici_read_share", "Links between chips, read", "ICI (Read)"),
    ("ici_write_share", "Links between chips, written", "ICI (Write)"),
];

/// A unit of a core of a device, over samples.
struct Gauge<'p> {
    device: &'p Device,
    core: u32,
    name: String,
    achieved: f64,
    peak: f64,
    measure: &'static str,
    samples: usize,
    last: usize,
}

impl Gauge<'_> {
    fn share(&self) -> Option<f64> {
        (self.peak > 0.0).then(|| self.achieved / self.peak)
    }
}

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let selection = asked.selection()?;
    if !scope.modules.is_empty() {
        quality::not_used("modules", notes);
    }
    if scope.cuts_time() {
        quality::not_used("time", notes);
    }
    let (gauges, samples) = gauges(profile, selection);
    let units = KernelUnit::of_selection(profile, selection);
    if gauges.is_empty() {
        missing(profile, selection, !units.is_empty(), notes);
    }
    let mut rows = Vec::new();
    for gauge in &gauges {
        let row = row![
            text("device", "Device", "Device.", gauge.device.name.as_str()),
            text("unit", "Unit", "The unit, as XProf's utilization viewer names it.", gauge.name.as_str()),
            count("core", "Core", "The core of the chip that the unit belongs to.", i64::from(gauge.core)),
            share(
                "share",
                "Busy",
                "Achieved as a share of peak; unknown if the cycles were not counted.",
                gauge.share()
            ),
            float(
                "achieved",
                "Achieved",
                Unit::Ratio,
                "What was counted, in `measure`, summed over samples.",
                gauge.achieved
            ),
            float(
                "peak",
                "Peak",
                Unit::Ratio,
                "The maximum possible in the counted cycles, in `measure`, summed over samples.",
                Some(gauge.peak).filter(|p| *p > 0.0)
            ),
            text("measure", "In", "cycles, instructions, bytes, or bytes as a percentage.", gauge.measure),
            count("samples", "Samples", "Samples that counted this unit.", gauge.samples),
        ];
        rows.push(row);
    }
    let mut tables = vec![Table::of("units", "Units", rows)];
    if !units.is_empty() {
        tables.push(KernelUnit::table("kernel_units", "Units inside of kernels", &units));
    }
    Ok(Report { values: values(&gauges, samples), tables, ..Report::default() })
}

/// The units of the selected devices, and how many samples there are.
fn gauges<'p>(profile: &Profile, selection: &Selection<'p>) -> (Vec<Gauge<'p>>, usize) {
    let (mut gauges, mut samples) = (Vec::new(), 0);
    let mut formulas: Vec<Formulas> = Vec::new();
    for device in &selection.devices {
        let Some(chip) = Chip::of(&device.type_name) else { continue };
        let at = formulas.iter().position(|f| f.chip() == chip).unwrap_or_else(|| {
            formulas.push(Formulas::new(chip));
            formulas.len() - 1
        });
        samples += read(profile, device, &formulas[at], &mut gauges);
    }
    (gauges, samples)
}

/// The share of time in which the matrix units were busy, by the hardware counters; `None` where none were recorded.
pub(super) fn matrix_units_busy(profile: &Profile, selection: &Selection<'_>) -> Option<f64> {
    share(&gauges(profile, selection).0, "Avg MXU Busy")
}

/// Achieved over peak of the units whose names begin so.
fn share(gauges: &[Gauge<'_>], name: &str) -> Option<f64> {
    let own = gauges.iter().filter(|g| g.name.starts_with(name));
    let (achieved, peak) = own.fold((0.0, 0.0), |(a, p), g| (a + g.achieved, p + g.peak));
    (peak > 0.0).then(|| achieved / peak)
}

/// Adds up the samples of a device; gives how many there are.
fn read<'p>(
    profile: &Profile,
    device: &'p Device,
    formulas: &Formulas,
    gauges: &mut Vec<Gauge<'p>>,
) -> usize {
    let mut row_of: FxHashMap<(u32, String), usize> = FxHashMap::default();
    let mut samples = 0;
    for line in profile.lines_of(device.plane) {
        let sample = counters::sample(profile, line);
        if sample.is_empty() {
            continue;
        }
        samples += 1;
        for usage in formulas.apply(&sample) {
            let row = *row_of.entry((usage.node, usage.name.clone())).or_insert_with(|| {
                gauges.push(Gauge {
                    device,
                    core: usage.node,
                    name: usage.name.clone(),
                    achieved: 0.0,
                    peak: 0.0,
                    measure: usage.unit,
                    samples: 0,
                    last: 0,
                });
                gauges.len() - 1
            });
            // The formulas of a chip with two dies name the links between chips twice.
            let gauge = &mut gauges[row];
            if gauge.last < samples {
                gauge.achieved += usage.achieved;
                gauge.peak += usage.peak;
                gauge.samples += 1;
                gauge.last = samples;
            }
        }
    }
    samples
}

/// `has_units`: kernels say how busy units were inside of them.
fn missing(profile: &Profile, selection: &Selection<'_>, has_units: bool, notes: &mut Notes) {
    let tpus: Vec<_> = selection.devices.iter().filter(|d| d.kind == DeviceKind::Tpu).collect();
    let counted = tpus.iter().any(|d| counters::any(profile, d.plane));
    let (message, fix) = if tpus.is_empty() {
        ("no TPU is in scope, and only the counters of TPUs are supported".to_owned(), "")
    } else if counted {
        let types = selection.device_type();
        (format!("hardware counters were recorded, but this chip's counters are not supported ({types})"), "")
    } else {
        (
            "no hardware counters were recorded".to_owned(),
            Fix::jax_or(
                "on a TPU v6e or v7x, capture with tpu_perf_counters in jax.profiler.ProfileOptions.advanced_configuration",
                "on a TPU v6e or v7x, capture with `haloscope capture --option tpu_perf_counters=true`",
            )
            .for_run(profile),
        )
    };
    notes.add(
        "no_hardware_counters",
        Severity::Warning,
        message,
        if has_units {
            "how busy the units were outside kernels is unknown; the table of kernels maps the compiler's schedule to measured time"
        } else {
            "how busy the units were is unknown; `roofline` compares FLOPs and bytes with their peaks, by the compiler's counts"
        },
        fix,
    );
}

fn values(gauges: &[Gauge<'_>], samples: usize) -> Vec<Value> {
    let mut all: Vec<Value> = HEADLINES
        .iter()
        .map(|(id, label, name)| {
            Value::new(
                id,
                label,
                share(gauges, name),
                Unit::Share,
                Status::Derived,
                "Achieved divided by peak of this unit, both summed over cores, samples and devices.",
            )
        })
        .collect();
    all.push(Value::new(
        "sample_count",
        "Samples",
        Some(samples).filter(|n| *n > 0),
        Unit::Count,
        Status::Measured,
        "Samples of hardware counters, one a line of a device's plane.",
    ));
    all
}

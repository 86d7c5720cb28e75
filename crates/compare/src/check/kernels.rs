//! Metrics of TPU kernels: `kernel_bundles(mm)`, of what the compiler made, so that a deviceless compile can be gated.

use haloscope_kernel::Subject;
use haloscope_llo::{Liveness, RegisterType, Space};
use haloscope_profile::Profile;
use haloscope_report::{Error, Unit};
use haloscope_time::select::Scoped;

use super::reading::{One, Reading, Spread};

/// A metric of a kernel.
struct Metric {
    /// Its name before the bracket.
    id: &'static str,
    unit: Unit,
    /// What it is; also why it is unknown where the kernel has none.
    about: &'static str,
    of: fn(&Profile, &Subject<'_>) -> Option<f64>,
}

const METRICS: &[Metric] = &[
    Metric {
        id: "kernel_bundles",
        unit: Unit::Count,
        about: "length of the schedule before empty bundles become delays",
        of: |_, kernel| Some(kernel.module.bundles() as f64),
    },
    Metric {
        id: "kernel_hot_bundles",
        unit: Unit::Count,
        about: "bundles of the body of the loop with the most bundles; a kernel without a loop has none",
        of: |_, kernel| Some(kernel.model.hot()?.once.bundles as f64),
    },
    Metric {
        id: "kernel_modelled",
        unit: Unit::Count,
        about: "bundles times the trips of the loops around them, with every branch taken; unknown if trips are unknown",
        of: |_, kernel| kernel.model.most(),
    },
    Metric {
        id: "kernel_spills",
        unit: Unit::Count,
        about: "vectors that the code stores because no register was free",
        of: |_, kernel| Some(sum(&kernel.module.utilization.spills)),
    },
    Metric {
        id: "kernel_fills",
        unit: Unit::Count,
        about: "vectors that the code loads again",
        of: |_, kernel| Some(sum(&kernel.module.utilization.fills)),
    },
    Metric {
        id: "kernel_spill_cost",
        unit: Unit::Count,
        about: "bundles that spills add; needs a dump with --xla_jf_dump_llo_text=true",
        of: |profile, kernel| Some(kernel.stages(profile)?.spill_cost()? as f64),
    },
    Metric {
        id: "kernel_vmem",
        unit: Unit::Bytes,
        about: "vector memory of the kernel, each allocation once",
        of: |_, kernel| Some(kernel.module.allocated_bytes(Space::Vmem) as f64),
    },
    Metric {
        id: "kernel_registers",
        unit: Unit::Count,
        about: "the most vector registers that hold a value at once",
        of: |_, kernel| {
            let peaks = Liveness::new(&kernel.module).register_peaks();
            Some(f64::from(peaks.get(&RegisterType::Vector).copied().unwrap_or(0)))
        },
    },
];

fn sum(list: &[u32]) -> f64 {
    list.iter().map(|n| f64::from(*n)).sum()
}

/// Names of the metrics, for messages.
pub(super) fn names() -> String {
    METRICS.iter().map(|metric| format!("{}(KERNEL)", metric.id)).collect::<Vec<_>>().join(", ")
}

/// The metric of kernels that an id means, and the kernel; `None` for an id of another form.
fn split(id: &str) -> Option<(&str, &str)> {
    let (name, kernel) = id.strip_suffix(')')?.split_once('(')?;
    name.starts_with("kernel_").then_some((name.trim_end(), kernel.trim()))
}

/// Reads `kernel_bundles(mm)`; `None` for an id of another form. The kernel is named as `kernel list` has it, by its op, or by a
/// part of either; where several fit, each is meant: the reading has all of them, and the largest as its value. What carries no LLO is
/// unknown.
///
/// # Errors
/// [`Error::Usage`] for a metric that kernels do not have.
pub(super) fn read(asked: &Scoped<'_>, id: &str) -> Option<Result<Reading, Error>> {
    let (name, word) = split(id)?;
    let Some(metric) = METRICS.iter().find(|metric| metric.id == name) else {
        return Some(Err(Error::Usage(format!("kernels have no metric `{name}`; there are: {}", names()))));
    };
    if word.is_empty() {
        return Some(Err(Error::Usage(format!("`{id}` names no kernel: write {name}(KERNEL)"))));
    }
    Some(Ok(of_kernels(asked, id, word, metric)))
}

fn of_kernels(asked: &Scoped<'_>, id: &str, word: &str, metric: &Metric) -> Reading {
    let reading = |value: Option<f64>, about: String| Reading {
        id: id.to_owned(),
        unit: metric.unit,
        value,
        text: None,
        spread: Spread::Once,
        about,
        seen_in: "kernel list",
        each: Vec::new(),
    };
    let found = haloscope_kernel::named(asked, word);
    if found.is_empty() {
        let why = if haloscope_kernel::carried::any(asked.profile) {
            format!("no op `{word}` of this run has its LLO; `kernel list` has those that do")
        } else {
            haloscope_kernel::why_none(asked.profile)
        };
        return reading(None, why);
    }
    let mut each = Vec::new();
    for kernel in found {
        // One of which nobody can tell may be the one that breaks the limit.
        let kernel = match kernel {
            Ok(kernel) => kernel,
            Err(why) => return reading(None, why.to_string()),
        };
        let Some(value) = (metric.of)(asked.profile, &kernel) else {
            return reading(None, format!("{}: {}", kernel.name, metric.about));
        };
        let mut about = format!("{}: {}", kernel.name, metric.about);
        match kernel.traces() {
            0 => {}
            traces => about.push_str(&format!("; {traces} of its instructions only trace it")),
        }
        each.push(One { value, about });
    }
    let mut all = Reading { each, ..reading(None, "no kernel".to_owned()) }.hardest(true);
    if let [one] = all.each.as_slice() {
        all.about.clone_from(&one.about);
        all.each.clear();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_of_a_kernel_is_a_name_and_a_kernel() {
        assert_eq!(split("kernel_bundles(mm.1)"), Some(("kernel_bundles", "mm.1")));
        assert_eq!(
            split("kernel_vmem( jit_f(0)::mm.1 )"),
            Some(("kernel_vmem", "jit_f(0)::mm.1")),
            "a whole name has brackets of its own"
        );
        for other in
            ["kernel_bundles", "latency", "kernels.count", "f(x)", "kernel_bundles(mm", "kernel.bundles"]
        {
            assert_eq!(split(other), None, "{other}");
        }
    }
}

//! The ways of counting, side by side.

use super::base::Base;
use super::job::{Job, Stated};
use crate::compute::facts::Fact;
use crate::model_flops::{Mode, ModelConfig};
use crate::typed_peak::{Precision, TypedPeaks};
use crate::utilization;
use haloscope_profile::{DeviceKind, Profile};
use haloscope_report::units;
use haloscope_report::{Cell, Status, Table, Unit, row};
use haloscope_time::kernels;
use haloscope_time::op_class::Class;
use haloscope_time::phase::Phase;
use haloscope_time::roofline::add_known;
use haloscope_time::select::Selection;

/// The peak that methods are held against.
pub(super) struct Named<'a> {
    pub(super) peaks: Option<TypedPeaks>,
    pub(super) peak_name: &'a str,
}

/// One way of counting.
pub(super) struct Method {
    pub(super) id: &'static str,
    pub(super) mfu: Option<f64>,
    pub(super) flops: Option<f64>,
    peak: Option<f64>,
    peak_used: String,
    pub(super) status: Status,
    pub(super) counts: String,
    pub(super) differs: String,
    pub(super) ratio: Option<f64>,
}

/// Shares of what ran that explain why ways of counting differ.
pub(super) struct Causes {
    /// FLOPs of recomputation over all counted ones.
    pub(super) recomputed: Option<f64>,
    /// Self time of ops that compute and whose FLOPs nobody counted, over all self time.
    pub(super) uncounted: f64,
    /// FLOPs outside of products of matrices, over all counted ones.
    pub(super) other_flops: Option<f64>,
}

impl Causes {
    pub(super) fn of(facts: &[Fact<'_, '_>]) -> Self {
        let flops = |takes: &dyn Fn(&Fact<'_, '_>) -> bool| {
            let mut sum = None;
            facts.iter().filter(|fact| takes(fact)).for_each(|fact| add_known(&mut sum, fact.flops()));
            sum
        };
        let all = flops(&|_| true).filter(|all| *all > 0.0);
        let over = |own: Option<f64>| Some(own.unwrap_or(0.0) / all?);
        let time = |takes: &dyn Fn(&Fact<'_, '_>) -> bool| {
            units::sum(facts.iter().filter(|fact| takes(fact)).map(|fact| fact.op.self_ps)) as f64
        };
        let is_uncounted = |fact: &Fact<'_, '_>| {
            fact.op.flops.is_none() && fact.class.has_limits() && fact.class != Class::DataMovement
        };
        Self {
            recomputed: over(flops(&|fact| fact.phase == Phase::Recomputation)),
            uncounted: time(&is_uncounted) / time(&|_| true).max(1.0),
            other_flops: over(flops(&|fact| !fact.class.multiplies())),
        }
    }

    /// What the compiler's count has that the model's has not, and the other way round.
    fn words(&self, stated: &Stated, model_is_less: bool) -> String {
        let mut words: Vec<String> = Vec::new();
        if let Some(share) = self.recomputed.filter(|share| *share > 0.005) {
            words.push(format!(
                "the program computes {} of its FLOPs a second time (rematerialisation)",
                units::share(share)
            ));
        }
        if self.uncounted > 0.005 {
            words.push(format!(
                "kernels with {} of the time have no FLOP count, so the compiler's count is too low",
                units::share(self.uncounted)
            ));
        }
        if let Some(share) = self.other_flops.filter(|share| *share > 0.005) {
            words.push(format!("{} of the compiler's FLOPs are not in matrix products", units::share(share)));
        }
        if stated.config.is_some() && !stated.all_keys && model_is_less {
            words.push("the program's count includes attention work that the mask hides".to_owned());
        }
        if let Some(config) = stated.config.filter(ModelConfig::is_mixture) {
            words.push(format!(
                "experts: each token counts in {} of {}, but the program computes their full capacity",
                config.experts_per_token, config.experts
            ));
        }
        if model_is_less {
            words.push("the program's count includes padding".to_owned());
        }
        words.join("; ")
    }
}

pub(super) fn all(
    profile: &Profile,
    selection: &Selection<'_>,
    facts: &[Fact<'_, '_>],
    base: &Base,
    job: &Job,
    stated: &Stated,
    named: &Named<'_>,
) -> Vec<Method> {
    let causes = Causes::of(facts);
    let maker = Maker { base, named, causes: &causes, stated };
    let mut found = Vec::new();
    let devices = job.count();
    if let (Some(tokens), Some(each)) = (stated.tokens, stated.flops_per_token) {
        let counts = format!("{} tokens x {} / {devices} devices", units::number(tokens), units::flops(each));
        found.push(maker.model("formula", tokens * each / devices, counts, Status::Derived));
    }
    if let (Some(tokens), Some(config)) = (stated.tokens, stated.config) {
        let each = config.token_flops(stated.mode, stated.keys, stated.all_keys);
        let (factor, matters) = match stated.mode {
            Mode::Train => ("6N", "trained"),
            Mode::Infer => ("2N", "inferred"),
        };
        let mask = if stated.all_keys {
            format!("each query meets {} keys", units::number(stated.keys))
        } else {
            format!("causal: each query meets half of {}", units::number(stated.keys))
        };
        let active = if config.is_mixture() { "active parameters" } else { "parameters" };
        let counts = format!(
            "{} tokens {matters} x ({factor} {} + attention {}) / {devices} devices; N = {:.4} billion {active}; {mask}",
            units::number(tokens),
            units::flops(each.parameters),
            units::flops(each.attention),
            config.active_parameters() / 1e9,
        );
        let causal = tokens * (each.parameters + each.attention) / devices;
        found.push(maker.model("config", causal, counts, Status::Estimated));
        if !stated.all_keys {
            let full = tokens * (each.parameters + each.attention_full) / devices;
            let counts = format!("the same with attention in full, {}", units::flops(each.attention_full));
            let mut method = maker.model("config, no causal discount", full, counts, Status::Estimated);
            method.differs =
                "counts the work that a causal mask hides, as older papers do: kernels that skip it look faster than they are".into();
            found.push(method);
        }
    }
    found.extend(maker.model_flops(facts));
    found.push(maker.hlo());
    found.extend(maker.typed(facts));
    found.extend(maker.counters(profile, selection));
    found
}

struct Maker<'a> {
    base: &'a Base,
    named: &'a Named<'a>,
    causes: &'a Causes,
    stated: &'a Stated,
}

impl Maker<'_> {
    fn method(&self, id: &'static str, flops: Option<f64>, status: Status) -> Method {
        let peak = self.named.peaks.map(|peaks| peaks.base());
        let seconds = self.base.step_ps.map(|ps| ps / units::PS_PER_S);
        let mfu = flops.zip(peak).zip(seconds).map(|((flops, peak), seconds)| flops / seconds / peak);
        let ratio = flops.zip(self.base.flops).filter(|(_, hlo)| *hlo > 0.0).map(|(own, hlo)| own / hlo);
        Method {
            id,
            mfu,
            flops,
            peak,
            peak_used: self.named.peak_name.to_owned(),
            status,
            counts: String::new(),
            differs: String::new(),
            ratio,
        }
    }

    fn model(&self, id: &'static str, flops: f64, counts: String, status: Status) -> Method {
        let method = self.method(id, Some(flops), status);
        let model_is_less = method.ratio.is_none_or(|ratio| ratio < 1.0);
        Method { counts, differs: self.causes.words(self.stated, model_is_less), ..method }
    }

    fn hlo(&self) -> Method {
        let mut differs =
            vec!["counts what ran, including recomputation, padding and masked work".to_owned()];
        if self.causes.uncounted > 0.005 {
            differs.push(format!(
                "a lower bound: kernels with {} of the time have no FLOP count",
                units::share(self.causes.uncounted)
            ));
        }
        Method {
            counts: "FLOPs as the compiler counts them for what ran in these steps".into(),
            differs: differs.join("; "),
            ..self.method("HLO FLOPs", self.base.flops, Status::Derived)
        }
    }

    /// `model_flops` of the profiler: those of operations as written. Scaled to the steps as HLO FLOPs are.
    fn model_flops(&self, facts: &[Fact<'_, '_>]) -> Option<Method> {
        let (mut model, mut counted) = (None, None);
        for fact in facts.iter().filter(|fact| fact.class != Class::Control) {
            add_known(&mut model, fact.op.model_flops);
            add_known(&mut counted, fact.op.flops);
        }
        let share = model.zip(counted).filter(|(_, all)| *all > 0.0).map(|(model, all)| model / all)?;
        let flops = self.base.flops? * share;
        let same = (share - 1.0).abs() < 1e-6;
        Some(Method {
            counts: "FLOPs of operations as written, if the profiler states them (model_flops)".into(),
            differs: if same {
                "the same as the compiler's count here: it knows of no padding or rewriting".into()
            } else {
                "without what the compiler adds (padding, splitting of wide types), but with recomputation"
                    .into()
            },
            ..self.method("model FLOPs", Some(flops), Status::Derived)
        })
    }

    /// Each op's FLOPs at the peak of its own type, where some of them have another peak than the 16-bit one.
    fn typed(&self, facts: &[Fact<'_, '_>]) -> Option<Method> {
        let peaks = self.named.peaks?;
        let (mut all, mut narrow, mut at_peak) = (0.0, 0.0, 0.0);
        for fact in facts {
            let Some(flops) = fact.flops() else { continue };
            let peak = peaks.peak(fact.precision);
            all += flops;
            at_peak += flops / peak.rate;
            if peak.of != Precision::Float16 {
                narrow += flops;
            }
        }
        if narrow <= 0.005 * all {
            return None;
        }
        let mean = all / at_peak;
        let seconds = self.base.step_ps? / units::PS_PER_S;
        let method = self.method("HLO FLOPs by type", self.base.flops, Status::Derived);
        Some(Method {
            mfu: method.flops.map(|flops| flops / seconds / mean),
            peak: Some(mean),
            peak_used: "mean of the peaks of the types, weighted by FLOPs".into(),
            counts: format!("{} of the FLOPs are in a type with its own peak", units::share(narrow / all)),
            differs: "compared with a higher peak than that of 16-bit floats".into(),
            ..method
        })
    }

    fn counters(&self, profile: &Profile, selection: &Selection<'_>) -> Option<Method> {
        if let Some(share) = utilization::matrix_units_busy(profile, selection) {
            return Some(Method {
                mfu: Some(share),
                counts: "cycles in which the matrix units were busy, over all cycles, by hardware counters".into(),
                differs: "over the whole sampled time, including idle time between steps; a unit that works on padding is busy".into(),
                peak: None,
                peak_used: "cycles".into(),
                ..self.method("matrix unit counters", None, Status::Derived)
            });
        }
        let share = tensor_core_share(profile, selection)?;
        Some(Method {
            mfu: None,
            counts: format!(
                "kernels that use tensor cores take {} of kernel time, by their names",
                units::share(share)
            ),
            differs: "not a utilisation, but an upper bound on it for matrix products".into(),
            peak: None,
            peak_used: String::new(),
            ..self.method("tensor core kernels", None, Status::Unknown)
        })
    }
}

/// Time of GPU kernels that use tensor cores over the time of all kernels; `None` without a GPU.
fn tensor_core_share(profile: &Profile, selection: &Selection<'_>) -> Option<f64> {
    let gpus = selection.devices.iter().copied().filter(|d| d.kind == DeviceKind::Gpu);
    let mut time = Vec::new();
    let all = kernels::visit(profile, gpus, |_, row, _, _, event| {
        time.resize(time.len().max(row + 1), 0.0);
        time[row] += (event.end_ps - event.start_ps) as f64;
    });
    let total: f64 = time.iter().sum();
    let used = all.iter().zip(&time).filter(|(kernel, _)| kernel.uses_tensor_cores);
    (total > 0.0).then(|| used.map(|(_, ps)| ps).sum::<f64>() / total)
}

pub(super) fn table(all: &[Method]) -> Table {
    let mut rows = Vec::new();
    for method in all {
        let rate = method.mfu.zip(method.peak).map(|(mfu, peak)| mfu * peak);
        let status = match (method.mfu, method.status) {
            (None, _) | (_, Status::Unknown) => "unknown",
            (_, Status::Estimated) => "estimated",
            (_, Status::Measured) => "measured",
            (_, Status::Derived) => "derived",
        };
        let row = row![
            text("method", "Method", "How the FLOPs are counted.", method.id),
            share("mfu", "MFU", "FLOPs / (peak x time); not limited to 100%.", method.mfu),
            float("flops_per_step", "FLOPs per step", Unit::Flop, "Of one device.", method.flops),
            float(
                "ratio_to_hlo",
                "Ratio to HLO",
                Unit::Ratio,
                "These FLOPs divided by those that the compiler counts for what ran.",
                method.ratio
            ),
            rate(
                "flop_rate",
                "FLOP rate",
                Unit::FlopRate,
                "Of one device, over the step including idle time.",
                rate
            ),
            rate(
                "peak",
                "Peak",
                Unit::FlopRate,
                "The peak of one device that it is compared with.",
                method.peak
            ),
            text(
                "peak_used",
                "Peak used",
                "The type that it is the peak of, and its source.",
                Cell::words(&method.peak_used)
            ),
            text("status", "Known", "derived, estimated, or unknown.", status),
            text("counts", "What it counts", "The formula with its numbers.", Cell::words(&method.counts)),
            text(
                "differs",
                "Why it differs",
                "Compared with the compiler's count for the program that ran.",
                Cell::words(&method.differs)
            ),
        ];
        rows.push(row);
    }
    Table::of("methods", "Ways of counting", rows)
}

//! TPU kernels whose LLO the run carries: what their schedules show, and how rules look at them.

use haloscope_kernel::carried;
use haloscope_kernel::facts::Facts;
use haloscope_report::{Finding, Link};

use super::Evidence;
use crate::cause::Cause;
use crate::rule::{Outcome, Standing};

/// What a profile must hold for rules that look at kernels.
pub(crate) const NEEDS: &str = "kernels that carry their LLO: --xla_xprof_register_llo_debug_info=true in LIBTPU_INIT_ARGS, or a dump of the compiler";

/// Kernels with less of the active window are not worth a word.
const WORTH: f64 = 0.01;

/// The kernels of a run, those with the most time first, else those with the most modelled time.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    pub all: Vec<Facts>,
    /// Why some could not be read.
    unread: Vec<String>,
    /// Whether any op carries its LLO.
    carried: bool,
}

/// What a rule sees of one kernel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    /// Too much, with the number that it is measured by: the larger the worse.
    Found(f64),
    /// All is well, with that number.
    Clear(f64),
    /// The question does not arise.
    No,
    /// The run cannot tell, for this reason.
    Unknown(&'static str),
}

/// What a rule says of the kernels in which it found something.
pub(crate) struct Said {
    /// The cause; its claim, evidence and lever are about the first kernel.
    pub cause: Cause,
    /// The share of the active window that would go at most; `None` where no honest number exists.
    pub saved: Option<f64>,
}

impl Evidence<'_> {
    /// The kernels of the scope that carry their LLO.
    pub(crate) fn kernels(&self) -> &Kernels {
        self.kernels.get_or_init(|| {
            let mut found = Kernels { carried: carried::any(self.profile), ..Kernels::default() };
            if !found.carried {
                return found;
            }
            for kernel in haloscope_kernel::named(self.asked, "") {
                match kernel {
                    Ok(kernel) => found.all.push(Facts::of(self.profile, &kernel)),
                    Err(why) => found.unread.push(why.to_string()),
                }
            }
            let modelled = |kernel: &Facts| kernel.modelled_ps.unwrap_or(kernel.bundles as f64);
            found.all.sort_by(|a, b| {
                (b.total_ps.cmp(&a.total_ps))
                    .then(modelled(b).total_cmp(&modelled(a)))
                    .then(a.name.cmp(&b.name))
            });
            found
        })
    }

    /// Whether the run says when anything ran.
    pub(crate) fn is_timed(&self) -> bool {
        !self.selection.devices.is_empty()
    }

    /// The share of the active window that a kernel takes; `None` without its time.
    pub(crate) fn kernel_share(&self, kernel: &Facts) -> Option<f64> {
        kernel.total_ps.filter(|_| self.is_timed()).map(|total_ps| self.of_active(total_ps as f64))
    }

    /// Asks a rule of every kernel that is worth a word: of a run with a timeline those that take a share of it, else all. `said`
    /// makes a finding of those in which something was found, with their numbers, the worst first; `clear` says the worst number of
    /// those that are well.
    pub(crate) fn look_at_kernels<'e>(
        &'e self,
        see: impl Fn(&Facts) -> Seen,
        clear: impl FnOnce(&Facts, f64) -> String,
        said: impl FnOnce(&[(&'e Facts, f64)]) -> Said,
    ) -> Outcome {
        let kernels = self.kernels();
        if !kernels.carried {
            let ran = self.ops().iter().any(|op| op.meta.category.contains("custom-call"));
            return if ran {
                Outcome::unknown("kernels ran, and none carries its LLO: nobody can see inside")
            } else {
                Outcome::not_applicable("no op carries its LLO")
            };
        }
        let is_worth = |kernel: &&Facts| {
            !self.is_timed() || self.kernel_share(kernel).is_some_and(|share| share >= WORTH)
        };
        let worth: Vec<&Facts> = kernels.all.iter().filter(is_worth).collect();
        let mut seen = Sorted::default();
        for kernel in worth {
            match see(kernel) {
                Seen::Found(number) => seen.found.push((kernel, number)),
                Seen::Clear(number) => seen.clear.push((kernel, number)),
                Seen::Unknown(why) => seen.unknown.push((kernel, why)),
                Seen::No => {}
            }
        }
        let weight = |one: &(&Facts, f64)| (self.kernel_share(one.0).unwrap_or(0.0), one.1);
        let worst_first = |a: &(&Facts, f64), b: &(&Facts, f64)| {
            let ((share_a, a), (share_b, b)) = (weight(a), weight(b));
            share_b.total_cmp(&share_a).then(b.total_cmp(&a))
        };
        seen.found.sort_by(worst_first);
        if !seen.found.is_empty() {
            return self.found(said(&seen.found));
        }
        // What nobody can tell of one kernel is not clear because it is of another.
        if let Some((kernel, why)) = seen.unknown.first() {
            return Outcome::unknown(format!("{}: {why}", op(kernel)));
        }
        if let Some(why) = kernels.unread.first() {
            return Outcome::unknown(why.clone());
        }
        let worst = seen.clear.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        match worst {
            Some((kernel, number)) => Outcome::clear(clear(kernel, *number)),
            None => Outcome::not_applicable("no kernel of the run is one that this is asked of"),
        }
    }

    fn found(&self, said: Said) -> Outcome {
        let Said { cause, saved } = said;
        let words = cause.evidence.clone();
        let finding: Finding = Cause { saved, ..cause }.into_finding(self);
        let outcome = Outcome::found(words, vec![finding]);
        // Beside causes with a number, one without is worth knowing, and no more.
        if self.is_timed() && saved.is_none() { outcome.standing(Standing::Fact) } else { outcome }
    }
}

#[derive(Default)]
struct Sorted<'e> {
    found: Vec<(&'e Facts, f64)>,
    clear: Vec<(&'e Facts, f64)>,
    unknown: Vec<(&'e Facts, &'static str)>,
}

/// Where to look at a kernel: an analysis of it, then what bounds it.
pub(crate) fn links(analysis: &'static str, kernel: &Facts) -> Vec<Link> {
    let of = |analysis| Link::to(analysis).param("op", kernel.name.as_str());
    if analysis == "kernel" { vec![of(analysis)] } else { vec![of(analysis), of("kernel")] }
}

/// The HLO instruction of a kernel.
pub(crate) fn op(kernel: &Facts) -> &str {
    kernel.name.rsplit_once("::").map_or(&kernel.name, |(_, op)| op)
}

/// How many other kernels have the same, as the end of a sentence of evidence.
pub(crate) fn others(found: &[(&Facts, f64)], words: impl Fn(f64) -> String) -> String {
    const NAMED: usize = 4;
    let rest = found.get(1..).unwrap_or_default();
    if rest.is_empty() {
        return String::new();
    }
    let mut named: Vec<String> = rest
        .iter()
        .take(NAMED)
        .map(|(kernel, number)| format!("{} {}", op(kernel), words(*number)))
        .collect();
    if rest.len() > NAMED {
        named.push(format!("and {} more", rest.len() - NAMED));
    }
    format!("; also {}", named.join(", "))
}

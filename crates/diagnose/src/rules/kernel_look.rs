//! How rules look at the kernels of a run, one by one.

use haloscope_kernel::facts::Facts;
use haloscope_report::{Finding, Link};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Standing};

/// What a profile must hold for rules that look at kernels.
pub(crate) const NEEDS: &str = "kernels with their LLO: --xla_xprof_register_llo_debug_info=true in LIBTPU_INIT_ARGS, or a dump of the compiler";

/// Kernels with less of the active window are not worth a word.
const WORTH: f64 = 0.01;

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
                Outcome::unknown(
                    "kernels ran, but the profile has no LLO of them, so their schedules are unknown",
                )
            } else {
                Outcome::not_applicable("no op has its LLO in the profile")
            };
        }
        let is_timed = self.is_timed();
        let is_worth =
            |kernel: &&Facts| !is_timed || self.kernel_share(kernel).is_some_and(|share| share >= WORTH);
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
            None if is_timed => {
                Outcome::not_applicable("this check applies to no kernel that takes 1% of the time or more")
            }
            None => Outcome::not_applicable("this check applies to no kernel of the run"),
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

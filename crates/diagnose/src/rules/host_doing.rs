//! What hosts do while devices have no program to run: the table behind `blocking_reads`, `large_transfers`, `launch_bound` and
//! `compilation_in_window`, which say the same of different doings.

use std::borrow::Cow;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host::Part;
use crate::evidence::host_events::Doing;
use crate::rule::Outcome;
use crate::thresholds::{Grade, HOST_CAUSE, Threshold};
use haloscope_report::{Status, units};

/// A row of the table.
#[derive(Debug)]
pub(super) struct HostDoing {
    /// The rule's id.
    id: &'static str,
    doing: Doing,
    /// What is unknown where no host events were recorded.
    unknown: &'static str,
    /// What the ceiling assumes.
    assuming: &'static str,
    /// What would refute it.
    falsifier: &'static str,
}

pub(super) static READS: HostDoing = HostDoing {
    id: "blocking_reads",
    doing: Doing::Read,
    unknown: "what hosts waited for",
    assuming: "if the host launched ahead",
    falsifier: "many steps take the same time when the host waits only after the last of them",
};

pub(super) static CHECKS: HostDoing = HostDoing {
    id: "debug_checks",
    doing: Doing::Check,
    unknown: "what hosts checked",
    assuming: "if nothing were checked",
    falsifier: "the step takes just as long with `jax_debug_nans` and `jax_debug_infs` off",
};

pub(super) static TRANSFERS: HostDoing = HostDoing {
    id: "large_transfers",
    doing: Doing::Transfer,
    unknown: "when data moved",
    assuming: "if transfers ran while programs run",
    falsifier: "the step is no shorter with input that is already on the device",
};

pub(super) static LAUNCHES: HostDoing = HostDoing {
    id: "launch_bound",
    doing: Doing::Launch,
    unknown: "when launches began",
    assuming: "if launches were ahead of the device",
    falsifier: "the gaps stay as long with programs or kernels of twice the size",
};

pub(super) static COMPILATIONS: HostDoing = HostDoing {
    id: "compilation_in_window",
    doing: Doing::Compile,
    unknown: "whether the host compiled",
    assuming: "if everything had been compiled before",
    falsifier: "a capture that begins after the first steps shows the same gaps",
};

/// What a rule says of a doing that is worth it.
pub(super) struct Words {
    /// One sentence, with the number that matters.
    pub claim: String,
    /// What stands before the events and gaps; may be empty.
    pub evidence: String,
    /// What to try.
    pub recommendation: String,
    /// What the ceiling assumes, where that is not what the table says.
    pub assuming: Option<&'static str>,
    /// What other rules claim and goes with it, shares of the active window.
    pub also: Vec<(&'static str, f64)>,
}

impl HostDoing {
    /// The time in which devices had no program and hosts did this.
    ///
    /// # Errors
    /// That it is unknown, where hosts recorded no event.
    pub(super) fn part<'e>(&self, evidence: &'e Evidence<'_>) -> Result<Cow<'e, Part>, Outcome> {
        let host = evidence.host();
        if host.has_events {
            return Ok(host.part(self.doing));
        }
        Err(Outcome::unknown(format!("no host events were recorded, so {} is unknown", self.unknown)))
    }

    /// Launches of a CPU run on the cores that run its programs, and without a wait they would run beside them; all else is the same
    /// everywhere.
    fn limit(&self, evidence: &Evidence<'_>) -> &'static Threshold {
        let is_on_cores = matches!(self.doing, Doing::Launch | Doing::Read);
        if is_on_cores { evidence.gaps_limit(&HOST_CAUSE) } else { &HOST_CAUSE }
    }

    /// Clear where the share of the active window is small, else the cause in the rule's words.
    pub(super) fn judge(
        &self,
        evidence: &Evidence<'_>,
        (part, share, said): (&Part, f64, String),
        words: impl FnOnce() -> Words,
    ) -> Outcome {
        if self.limit(evidence).grade(share) == Grade::Good {
            return Outcome::clear(said);
        }
        let Words { claim, evidence: first, recommendation, assuming, also } = words();
        let events = evidence.words_of(part);
        let with_it = evidence.goes_with(self.doing);
        let more: f64 = with_it.iter().map(|(_, share)| share).sum();
        let beyond: f64 = also.iter().map(|(_, share)| share).sum();
        let cold = evidence.cold_launches(share);
        let saved = (share + more + beyond + cold).min(1.0);
        // What takes longer than all else of a step cannot be hidden behind it.
        let assuming = match self.doing {
            Doing::Transfer if saved > 0.5 => format!(
                "if nothing had to move; if data moved while programs run, a step would be at most {:.2}x as fast",
                1.0 / saved
            ),
            _ => assuming.unwrap_or(self.assuming).to_owned(),
        };
        let finding = Cause {
            id: self.id,
            claim,
            evidence: if first.is_empty() { events } else { format!("{first}; {events}") }
                + &rest_of_gaps(self.doing, more)
                + &cold_words(cold),
            saved: Some(saved),
            assuming,
            recommendation,
            falsifier: self.falsifier.into(),
            status: if cold > 0.0 { Status::Estimated } else { Status::Derived },
            links: evidence.links_of(part),
        };
        let mut finding = finding.into_finding(evidence);
        for (rule, share) in with_it.into_iter().chain(also) {
            finding = finding.explaining(rule, share);
        }
        Outcome::found(said, vec![finding])
    }
}

/// What programs take longer for the waits before them, a share of the active window, as the end of a sentence; empty where that is little.
pub(super) fn cold_words(share: f64) -> String {
    if share < LITTLE {
        return String::new();
    }
    format!(
        "; the time that programs take beyond their fastest run, {} of the active window, would be saved too",
        units::share(share)
    )
}

/// Less than this share of the active window is not worth a word.
const LITTLE: f64 = 0.001;

/// What else goes where the main part of a gap does, which is `main`, a share of the active window, as the end of a sentence; empty where
/// that is little.
pub(super) fn rest_of_gaps(main: Doing, share: f64) -> String {
    if share < LITTLE {
        return String::new();
    }
    let why = match main {
        Doing::Compile => "it is at most a twentieth of them",
        _ => "the host would do that work while the previous program runs",
    };
    format!(
        "; the rest of these gaps, {} of the active window, would be saved too: {why}",
        units::share(share)
    )
}

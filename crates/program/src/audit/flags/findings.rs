//! What follows from a set of flags.

use super::check::{Conflict, Missing};
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::ceiling;

pub(super) fn all(conflicts: &[Conflict], missing: &[Missing<'_>]) -> Vec<Finding> {
    let mut found: Vec<Finding> = conflicts.iter().map(conflict).collect();
    // One finding a stall: which of its flags to try first is one decision.
    let mut kinds: Vec<&str> = Vec::new();
    for one in missing {
        if !kinds.contains(&one.stall.kind) {
            kinds.push(one.stall.kind);
            let own: Vec<&Missing<'_>> = missing.iter().filter(|m| m.stall.kind == one.stall.kind).collect();
            found.push(stall(one, &own));
        }
    }
    found.sort_by_key(|f| std::cmp::Reverse(f.severity));
    found
}

fn conflict(one: &Conflict) -> Finding {
    let with = if one.with.is_empty() { String::new() } else { format!(" (with {})", one.with) };
    let why = one.why.trim_end_matches('.');
    Finding {
        id: one.id,
        severity: one.severity,
        claim: format!("{}{with}: {why}", one.flag),
        evidence: format!("line {}; {}", one.line, one.source),
        ceiling: "not known: the run was not measured without it".into(),
        speedup: None,
        recommendation: one.recommendation.clone(),
        falsifier: match one.id {
            "unknown_flag" | "retired_flag" | "flag_in_wrong_variable" | "flag_value" => {
                "the program starts with it and logs no error about flags"
            }
            "flag_without_effect" => "the environment of the running process has this value",
            "renamed_flag" => "the release in use refuses the new name",
            _ => "the compiled program is the same with and without the change (`hlo diff`)",
        }
        .into(),
        status: if one.by_default { Status::Estimated } else { Status::Derived },
        links: vec![Link::to("audit flags").row("conflicts", one.flag.as_str())],
        ..Finding::default()
    }
}

fn stall(one: &Missing<'_>, all: &[&Missing<'_>]) -> Finding {
    let share = one.stall.share;
    let names: Vec<&str> = all.iter().map(|m| m.known.name.as_str()).collect();
    Finding {
        id: "missing_flag",
        severity: if share >= 0.10 { Severity::Warning } else { Severity::Info },
        claim: format!(
            "{} takes {} of the active window; flags that can hide it and are neither set nor known to be on by default: {}",
            one.stall.kind,
            units::share(share),
            names.join(", ")
        ),
        evidence: format!("{} in such ops, summed over devices", units::duration_ps(one.stall.total_ps as f64)),
        ceiling: format!("{:.2}x, if none of it were left; a flag can hide only a part", ceiling::speedup(share)),
        speedup: Some(ceiling::speedup(share)),
        recommendation: one.recommendation.clone(),
        falsifier: "with the flag the compiled program has the same synchronous collectives (`hlo counters`), or the step time does not change"
            .into(),
        status: Status::Estimated,
        links: vec![Link::to("audit flags").row("missing", one.known.name.as_str()), Link::to("ops").param("by", "category")],
        ..Finding::default()
    }
}

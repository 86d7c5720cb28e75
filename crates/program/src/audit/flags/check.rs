//! What is wrong with a set of flags, and which are missing.

use super::stalls::{Stall, Stalls};
use crate::flags::table::{self, Kind, Known, Release, Standing};
use crate::flags::{Form, Given, Lost, Use, is_yes};
use haloscope_report::Severity;

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    pub id: &'static str,
    pub severity: Severity,
    /// The flag as given.
    pub flag: String,
    /// What it does not go with.
    pub with: String,
    pub why: String,
    /// The exact text to use.
    pub recommendation: String,
    pub line: usize,
    /// Who says so.
    pub source: String,
    /// It rests on a default that a document states.
    pub by_default: bool,
}

/// A flag to try against a stall that was measured.
#[derive(Debug, Clone)]
pub(super) struct Missing<'a> {
    pub known: &'static Known,
    pub stall: &'a Stall,
    /// What is given now, if anything.
    pub now: Option<String>,
    /// The exact text to add.
    pub recommendation: String,
    /// The release that has it.
    pub release: Option<&'static Release>,
}

/// Stalls below this share of the active window are left alone.
const WORTH: f64 = 0.05;

pub(super) fn text_of(one: &Use) -> String {
    format!("--{}={}", one.name, one.value)
}

/// Everything that does not fit, in the order of the text.
pub(super) fn conflicts(given: &Given, asked: &[&'static Release]) -> Vec<Conflict> {
    let mut found = Vec::new();
    for one in given.uses.iter().filter(|u| u.lost.is_none()) {
        found.extend(excluded(given, one));
        found.extend(wrong_variable(one, asked));
        found.extend(wrong_value(one, asked));
        found.extend(refused(one, asked));
    }
    found.extend(given.uses.iter().filter_map(|one| lost(given, one)));
    found.sort_by_key(|c| c.line);
    found
}

/// Pairs that the table says do not go together.
fn excluded<'a>(given: &'a Given, one: &'a Use) -> impl Iterator<Item = Conflict> + 'a {
    let rules = table::conflicts().iter().filter(|c| c.flag == one.name && is_yes(&one.value) == Some(c.is));
    rules.filter_map(move |rule| {
        let other = given.effective(&rule.with);
        let default = table::find(&rule.with).map(|known| known.default.as_str()).unwrap_or_default();
        let value = other.map_or(default, |u| u.value.as_str());
        (is_yes(value) == Some(rule.with_is)).then(|| Conflict {
            id: "conflicting_flags",
            severity: Severity::Warning,
            flag: text_of(one),
            with: match other {
                Some(other) => text_of(other),
                None => format!("--{}={default} (its default)", rule.with),
            },
            why: rule.why.clone(),
            recommendation: rule.recommendation.clone(),
            line: one.line,
            source: rule.source.clone(),
            by_default: other.is_none(),
        })
    })
}

/// XLA and libtpu stop at a flag that they do not have; each reads its own variable.
fn wrong_variable(one: &Use, asked: &[&'static Release]) -> Option<Conflict> {
    let variable = one.variable.as_deref()?;
    let releases = table::looked_up(asked);
    let reader = releases.iter().find(|r| r.variable == variable)?;
    let has = |release: &Release| table::kind_in(release, &one.name).is_some_and(|k| k != Kind::Retired);
    let other = releases.iter().find(|r| r.variable != variable && has(r))?;
    (!has(reader)).then(|| Conflict {
        id: "flag_in_wrong_variable",
        severity: if asked.contains(reader) { Severity::Error } else { Severity::Warning },
        flag: text_of(one),
        with: variable.to_owned(),
        why: format!(
            "{variable} is read by {}, which does not have this flag in {} and stops at unknown flags; {} has it",
            reader.library, reader.version, other.library
        ),
        recommendation: format!("{}=\"… {}\"", other.variable, text_of(one)),
        line: one.line,
        source: reader.source.clone(),
        by_default: !asked.contains(reader),
    })
}

/// Values that are not of the flag's kind, and yes or no that stands apart.
fn wrong_value(one: &Use, asked: &[&'static Release]) -> Option<Conflict> {
    let Standing::Known(release, kind) = table::standing(&one.name, asked) else { return None };
    let conflict = |why: String, recommendation: String| Conflict {
        id: "flag_value",
        severity: Severity::Warning,
        flag: if one.form == Form::Separate { format!("--{} {}", one.name, one.value) } else { text_of(one) },
        with: String::new(),
        why,
        recommendation,
        line: one.line,
        source: release.source.clone(),
        by_default: !asked.contains(&release),
    };
    if one.form == Form::Separate && kind == Kind::Bool {
        return Some(conflict(
            format!(
                "a yes-or-no flag takes its value only after `=`: this sets it to yes, and `{}` is left over",
                one.value
            ),
            text_of(one),
        ));
    }
    let what = kind.word().unwrap_or("another value");
    kind.refuses(&one.value).then(|| {
        conflict(
            format!("{} {} takes a {what} here and stops at other values", release.library, release.version),
            format!("--{}=<{what}>", one.name),
        )
    })
}

/// Flags that the release in use does not have.
fn refused(one: &Use, asked: &[&'static Release]) -> Option<Conflict> {
    let (id, severity, why, recommendation, source) = match table::standing(&one.name, asked) {
        Standing::Missing(release) => (
            "unknown_flag",
            Severity::Warning,
            format!(
                "{} {} does not have it: the program stops there, or the flag has another name",
                release.library, release.version
            ),
            "remove it, or look up its name in this release".to_owned(),
            release.source.clone(),
        ),
        Standing::Retired(release) if asked.contains(&release) => (
            "retired_flag",
            Severity::Warning,
            format!("{} {} has removed it and refuses it", release.library, release.version),
            "remove it".to_owned(),
            release.source.clone(),
        ),
        Standing::Renamed(known) => (
            "renamed_flag",
            Severity::Info,
            format!("it is called {} now", known.name),
            format!("--{}={}", known.name, one.value),
            known.source.clone(),
        ),
        _ => return None,
    };
    let line = one.line;
    Some(Conflict {
        id,
        severity,
        flag: text_of(one),
        with: String::new(),
        why,
        recommendation,
        line,
        source,
        by_default: false,
    })
}

/// Flags that a later line undoes; repeating the same value is harmless.
fn lost(given: &Given, one: &Use) -> Option<Conflict> {
    let (why, with) = match one.lost? {
        Lost::Repeated(line) => {
            let last = given.effective(&one.name).filter(|last| last.value != one.value)?;
            (format!("it is given again in line {line}: the last one wins"), text_of(last))
        }
        Lost::Overwritten(line) => {
            // Nothing is lost where the new assignment has it too.
            if given.uses.iter().any(|u| u.lost.is_none() && u.name == one.name && u.value == one.value) {
                return None;
            }
            let variable = one.variable.clone().unwrap_or_default();
            (
                format!(
                    "line {line} assigns {variable} again and drops its earlier value: if both lines run, this has no effect"
                ),
                variable,
            )
        }
    };
    Some(Conflict {
        id: "flag_without_effect",
        severity: Severity::Warning,
        flag: text_of(one),
        with,
        why,
        recommendation: match one.lost {
            Some(Lost::Overwritten(_)) => {
                format!("append: {0}=\"${0} …\"", one.variable.as_deref().unwrap_or("XLA_FLAGS"))
            }
            _ => "keep one of the two".to_owned(),
        },
        line: one.line,
        source: "order of the text".to_owned(),
        by_default: false,
    })
}

/// Flags to try against stalls that were measured, the largest first. Only where flags are known: what nobody has seen is not
/// missing.
pub(super) fn missing<'a>(given: &Given, stalls: &'a Stalls, asked: &[&'static Release]) -> Vec<Missing<'a>> {
    let mut found = Vec::new();
    for stall in stalls.all.iter().filter(|s| s.share >= WORTH) {
        for known in table::all()
            .iter()
            .filter(|k| !k.try_value.is_empty() && k.stalls.iter().any(|s| s == stall.kind))
        {
            let is_gpu = known.name.starts_with("xla_gpu_");
            let fits = if is_gpu { stalls.is_gpu } else { stalls.is_tpu };
            let offloads = known.intent == "SparseCore offload";
            if !fits || (offloads && !stalls.has_sparse_cores) {
                continue;
            }
            // In a release that is known not to have it, it is not missing.
            let release = match table::standing(&known.name, asked) {
                Standing::Known(release, _) => Some(release),
                Standing::Missing(_) | Standing::Retired(_) => continue,
                Standing::Renamed(_) | Standing::NotKnownHere => None,
            };
            let now = given.effective(&known.name);
            let value = now.map_or(known.default.as_str(), |u| u.value.as_str());
            let is_set = match is_yes(&known.try_value) {
                Some(wanted) => is_yes(value) == Some(wanted) || value.to_ascii_lowercase().ends_with("auto"),
                None => now.is_some(),
            };
            if is_set || is_excluded(given, known) {
                continue;
            }
            // What is on by default need not be said again.
            let beside = known.together.iter().filter(|text| {
                let (name, value) = text.split_once('=').unwrap_or((text, ""));
                let default = table::find(name).map(|k| k.default.as_str()).unwrap_or_default();
                let now = given.effective(name).map_or(default, |u| u.value.as_str());
                is_yes(now) != is_yes(value)
                    && !(now.to_ascii_lowercase().ends_with("auto") && is_yes(value) == Some(true))
            });
            let recommendation: Vec<String> =
                std::iter::once(format!("--{}={}", known.name, known.try_value))
                    .chain(beside.map(|text| format!("--{text}")))
                    .collect();
            found.push(Missing {
                known,
                stall,
                now: now.map(text_of),
                recommendation: recommendation.join(" "),
                release,
            });
        }
    }
    found
}

/// Whether a flag that is set stands against this one.
fn is_excluded(given: &Given, known: &Known) -> bool {
    table::conflicts().iter().any(|rule| {
        rule.with == known.name
            && rule.with_is
            && given.effective(&rule.flag).is_some_and(|u| is_yes(&u.value) == Some(rule.is))
    })
}

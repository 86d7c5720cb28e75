//! `audit flags`: the flags that a run was started with, what is known of them, and what does not fit.

mod check;
mod findings;
mod stalls;
mod tables;

use crate::flags::table::{self, Release};
use crate::flags::{Given, parse};
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::{Notes, Report, Severity, Status, Unit, Value};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::select::Scoped;
use stalls::Stalls;

const SCRIPT: Param = Param {
    id: "script",
    doc: "a launch script, environment dump, JSON, YAML or Python file with the flags of the run",
    kind: ParamKind::Document,
    default: "",
};

const VERSION: Param = Param {
    id: "version",
    doc: "the releases that read the flags, such as libtpu-0.0.52 or libtpu-0.0.52,jaxlib-0.10.2 [default: those in the profile]",
    kind: ParamKind::Text,
    default: "",
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "audit flags",
    label: "Flags",
    group: MenuGroup::Programs,
    question: "Which XLA and libtpu flags was the run started with, do any conflict, and which would help?",
    params: &[SCRIPT, VERSION],
    needs: &[
        "flags: a text as the RUN or with --script; profiles usually have none",
        "for missing flags, also a run: a device's op lines",
    ],
    reads: &[Input::Profile, Input::Program, Input::Flags],
    example: "audit flags logs --script launch.sh",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let profile = asked.profile;
    let releases = releases(profile, params.text(&VERSION), notes)?;
    let given = given(profile, params.text(&SCRIPT))?;
    let stalls = if profile.is_flags() { None } else { Stalls::measure(asked) };
    remarks(profile, given.as_ref(), stalls.as_ref(), &releases, notes);
    let nothing = Given::default();
    let flags = given.as_ref().unwrap_or(&nothing);
    let conflicts = check::conflicts(flags, &releases);
    let missing = match (&given, &stalls) {
        (Some(given), Some(stalls)) => check::missing(given, stalls, &releases),
        _ => Vec::new(),
    };
    let mut all =
        vec![tables::flags(flags, &releases), tables::conflicts(&conflicts), tables::missing(&missing)];
    all.extend(stalls.as_ref().map(tables::stalls));
    Ok(Report {
        values: values(given.as_ref(), stalls.is_some(), &releases, conflicts.len(), missing.len()),
        tables: all,
        findings: findings::all(&conflicts, &missing),
        ..Report::default()
    })
}

/// The flags: of the script, else of the text that is the RUN, else of the profile. `None` where nobody says.
fn given(profile: &Profile, script: &str) -> Result<Option<Given>, Error> {
    let of_text = |text: &str, from: String| {
        let given = Given::of_text(haloscope_report::head(text, parse::LARGEST), from);
        if given.uses.is_empty() {
            return Err(Error::Nothing(
                "the text has no flag of XLA or libtpu; expected --xla_…, XLA_FLAGS, LIBTPU_INIT_ARGS, or keys such as \
                 \"xla_tpu_…\": true"
                    .into(),
            ));
        }
        Ok(Some(given))
    };
    if !script.is_empty() {
        return of_text(script, "the script".into());
    }
    if let Some(source) = profile.sources.first().filter(|_| profile.is_flags()) {
        let name = source.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        return of_text(&String::from_utf8_lossy(source.bytes()), name);
    }
    Ok(Given::of_profile(profile))
}

/// The releases asked about: as given, else as the profile states.
fn releases(profile: &Profile, words: &str, notes: &mut Notes) -> Result<Vec<&'static Release>, Error> {
    let known: Vec<&str> = table::releases().iter().map(|r| r.id.as_str()).collect();
    let mut asked = Vec::new();
    for word in words.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        let is_release = word.split_once('-').is_some_and(|(library, version)| {
            table::releases().iter().any(|r| r.library == library)
                && version.starts_with(|c: char| c.is_ascii_digit())
        });
        match table::releases().iter().find(|r| r.id == word) {
            Some(release) => asked.push(release),
            None if is_release => notes.add(
                "release_not_listed",
                Severity::Warning,
                format!("there is no list of flags for {word}; there are lists for: {}", known.join(", ")),
                "a flag that is in no list is reported as `not known here`, never as wrong",
                "",
            ),
            None => {
                return Err(Error::Usage(format!(
                    "`version`: expected a release such as {}, found `{word}`",
                    known.join(" or ")
                )));
            }
        }
    }
    Ok(if words.trim().is_empty() { table::of_profile(profile) } else { asked })
}

fn remarks(
    profile: &Profile,
    given: Option<&Given>,
    stalls: Option<&Stalls>,
    asked: &[&'static Release],
    notes: &mut Notes,
) {
    if given.is_none() {
        notes.add(
            "no_flags_in_profile",
            Severity::Warning,
            "the profile does not say which flags the run was started with",
            "missing flags cannot be named, because flags that were not recorded may have been set",
            "pass the launch script or a dump of the environment with --script",
        );
    }
    if stalls.is_none() {
        let what =
            if profile.is_flags() { "only flags were given, no run" } else { "the run has no device times" };
        notes.add(
            "no_stalls",
            Severity::Info,
            what,
            "no flag is reported as missing: that needs a measured stall",
            "audit flags RUN --script FILE",
        );
    }
    if asked.is_empty() {
        notes.add(
            "release_not_known",
            Severity::Info,
            "the releases of libtpu and jaxlib are not known",
            "a flag that is in none of the lists is reported as `not known here`; it may be right for the release in use",
            "--version libtpu-0.0.52,jaxlib-0.10.2",
        );
    }
}

fn values(
    given: Option<&Given>,
    measured: bool,
    asked: &[&'static Release],
    conflicts: usize,
    missing: usize,
) -> Vec<Value> {
    use Status::Derived;
    let count =
        |of: &dyn Fn(&crate::flags::Use) -> bool| given.map(|g| g.uses.iter().filter(|u| of(u)).count());
    let status = |u: &crate::flags::Use| tables::status(u, asked).0;
    let names: Vec<&str> = asked.iter().map(|r| r.id.as_str()).collect();
    let number =
        |id, label, value: Option<usize>, doc| Value::new(id, label, value, Unit::Count, Derived, doc);
    vec![
        Value::new(
            "flags_from",
            "Flags from",
            given.map(|g| g.from.as_str()),
            Unit::None,
            Derived,
            "Where the flags were read from; unknown if neither a text nor the profile has any.",
        ),
        Value::new(
            "releases",
            "Releases",
            (!asked.is_empty()).then(|| names.join(", ")),
            Unit::None,
            Derived,
            "The releases whose lists were used: as given with --version, else as in the profile; unknown if it does not say.",
        ),
        number("flag_count", "Flags", count(&|_| true), "Flags in the text; repeated ones count each time."),
        number(
            "effective_count",
            "With effect",
            count(&|u| u.lost.is_none()),
            "Flags that no later line removes.",
        ),
        number(
            "unknown_count",
            "Unknown",
            count(&|u| matches!(status(u), "unknown" | "retired")),
            "Flags that the release in use does not have.",
        ),
        number(
            "not_known_here_count",
            "Not known here",
            count(&|u| status(u) == "not known here"),
            "Flags in no list, if the release is not known: they are not necessarily wrong.",
        ),
        number("conflict_count", "Do not fit", given.map(|_| conflicts), "Rows of the table `conflicts`."),
        number(
            "missing_count",
            "Missing",
            given.filter(|_| measured).map(|_| missing),
            "Rows of the table `missing`; unknown without flags or without a run.",
        ),
    ]
}

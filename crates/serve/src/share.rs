//! `/api/share`: a run as a file to hand on: the report that shows it by itself, a part of it as a smaller profile, and the run under
//! other names. The same as `haloscope report`, `slice` and `redact` write.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use haloscope_report::present::csv_line;
use haloscope_report::scope::Scope;
use haloscope_report::turns::Size;
use haloscope_report::{Cell, Error};
use haloscope_timeline::share::{Redaction, slices};

use crate::answer::Failure;
use crate::app::AppState;
use crate::compute::compute;
use crate::named_run::open;
use crate::query::Query;
use crate::report_file::report_page;
use crate::timeline::export::safe_name;

const KNOWN: [&str; 9] = ["run", "what", "host", "hosts", "devices", "modules", "steps", "window", "steady"];

/// What of a run can be handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// One HTML file.
    Report,
    /// The scope as a profile.
    Slice,
    /// The run under other names, as a profile.
    Redacted,
    /// The list of what stands for what in it.
    Names,
}

impl What {
    fn named(word: &str) -> Result<Self, Failure> {
        match word {
            "report" => Ok(Self::Report),
            "slice" => Ok(Self::Slice),
            "redacted" => Ok(Self::Redacted),
            "names" => Ok(Self::Names),
            other => {
                let found = format!("`what`: expected report, slice, redacted or names, found `{other}`");
                Err(Failure::usage(found, ""))
            }
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Report => "-report.html",
            Self::Slice => "-slice.xplane.pb",
            Self::Redacted => "-redacted.xplane.pb",
            Self::Names => "-names.csv",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Report => "text/html; charset=utf-8",
            Self::Slice | Self::Redacted => "application/octet-stream",
            Self::Names => "text/csv; charset=utf-8",
        }
    }
}

/// `GET /api/share?run=ID&what=report`: the file, to be saved. Profiles are one a host: `host` says which.
pub(crate) async fn file(State(app): AppState, uri: Uri) -> Result<Response, Failure> {
    let query = Query::parse(&uri, &KNOWN)?;
    let what = What::named(query.get("what").unwrap_or("report"))?;
    let scope = Scope::from_words(|key| query.get(key))?;
    let host = query.get("host").map(str::to_owned);
    let (name, bytes) = compute(Arc::clone(&app), Size::Heavy, move |app| {
        let run = open(app, &query)?;
        let profile = &run.profile;
        let name = &run.info.name;
        let (called, bytes) = match what {
            What::Report => (name.clone(), report_page(profile, &scope, name)?),
            What::Slice => {
                let parts = slices(profile, &scope)?;
                let parts = parts.into_iter().map(|part| (part.host, part.bytes)).collect();
                let of = host.as_deref().map(|host| format!("-{host}")).unwrap_or_default();
                (format!("{name}{of}"), of_host(parts, host.as_deref())?)
            }
            What::Redacted => {
                // They are asked for by the names that the run has, and saved under those that they have now.
                let files = redaction(profile)?.files;
                let hosts = profile.hosts.iter().map(|host| host.name.clone());
                let files = hosts.zip(files.into_iter().map(|file| (file.host, file.bytes))).collect();
                of_host(files, host.as_deref())?
            }
            What::Names => (name.clone(), names(&redaction(profile)?)?),
        };
        profile.unchanged()?;
        Ok::<_, Failure>((safe_name(&called, what.ending()), bytes))
    })
    .await?;
    let headers = [
        (header::CONTENT_TYPE, what.media_type().to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, bytes).into_response())
}

fn redaction(profile: &haloscope_profile::Profile) -> Result<Redaction, Failure> {
    if profile.is_program() || profile.is_flags() {
        return Err(Error::Nothing("this is not a profile: it has no events".into()).into());
    }
    Ok(Redaction::of(profile))
}

/// What there is of the host that was asked for, or of the only one.
fn of_host<T>(files: Vec<(String, T)>, host: Option<&str>) -> Result<T, Failure> {
    let hosts: Vec<&str> = files.iter().map(|(host, _)| host.as_str()).collect();
    let at = match host {
        Some(host) => hosts.iter().position(|one| *one == host),
        None if hosts.len() == 1 => Some(0),
        None => None,
    };
    let missing = || {
        let found = format!("a profile has one host: `host` must be one of {}", hosts.join(", "));
        Failure::usage(found, "")
    };
    let at = at.ok_or_else(missing)?;
    files.into_iter().nth(at).map(|(_, file)| file).ok_or_else(|| Failure::bug("a host without a file"))
}

/// What was replaced by what, as CSV.
fn names(redaction: &Redaction) -> Result<Vec<u8>, Failure> {
    let mut out = b"kind,word,replacement\r\n".to_vec();
    for one in &redaction.replaced {
        let cells = [one.kind.word(), &one.word, &one.by].map(|text| Cell::Text(text.to_owned()));
        csv_line(&cells, &mut out).map_err(|error| Failure::bug(&error.to_string()))?;
    }
    Ok(out)
}

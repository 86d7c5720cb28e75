//! Runs and reports as resources, for clients that attach them to a conversation.

use haloscope_analyses as analyses;

use haloscope_report::scope::Scope;
use haloscope_store::RunInfo;
use haloscope_time::analysis::Params;
use rmcp::model::{ListResourcesResult, Resource, ResourceTemplate};
use serde_json::{Value, json};

use crate::{Budget, Context, Refusal, tools};

/// The resource that lists the runs; a run's is below it, a report's below that.
pub(crate) const RUNS: &str = "haloscope://runs";

const JSON: &str = "application/json";
/// Runs on one page of a list.
const PAGE: usize = 50;
/// Tokens of a report as a resource: who attaches one wants more of it than an agent that looks around.
const TOKENS: usize = 8000;

/// The forms of addresses.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let run = ResourceTemplate::new(format!("{RUNS}/{{run}}"), "run")
        .with_title("A run")
        .with_description("Its hosts, devices and files, and the addresses of its reports.");
    let report = ResourceTemplate::new(format!("{RUNS}/{{run}}/{{analysis}}"), "report").with_title("A report").with_description(
        "The report of an analysis of the whole run, such as diagnose or memory-attribute, in the shape of the tools' answers and of at \
         most 8000 tokens.",
    );
    [run, report].map(|template| template.with_mime_type(JSON)).into()
}

/// The resources from the place that a cursor names.
pub(crate) fn list(context: &Context, cursor: Option<&str>) -> Result<ListResourcesResult, Refusal> {
    let from = match cursor {
        None => 0,
        Some(text) => text.parse::<usize>().map_err(|_| {
            Refusal::new(
                format!("`{text}` is not a cursor of this list"),
                "list the resources without a cursor",
            )
        })?,
    };
    let runs = context.store.list()?;
    let mut resources = Vec::new();
    if from == 0 {
        let all = Resource::new(RUNS, "runs")
            .with_title("All runs")
            .with_description("The runs, the newest first.");
        resources.push(all.with_mime_type(JSON));
    }
    for run in runs.iter().skip(from).take(PAGE) {
        let hosts = format!("{} hosts, {} bytes", run.hosts.len(), run.size_bytes);
        let resource = Resource::new(address(&run.id), &run.id).with_title(&run.name).with_description(hosts);
        resources.push(resource.with_mime_type(JSON));
    }
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = (from + PAGE < runs.len()).then(|| (from + PAGE).to_string());
    Ok(result)
}

/// What stands at an address, as JSON.
pub(crate) fn read(context: &Context, uri: &str) -> Result<Value, Refusal> {
    let next = "list the resources, or call `xprof_list_runs`";
    let unknown =
        || Refusal::new(format!("there is no resource {}", crate::refusal::shorten(uri, 200)), next);
    let rest = uri.strip_prefix(RUNS).ok_or_else(unknown)?;
    let parts: Vec<&str> = rest.split('/').skip(1).collect();
    match parts[..] {
        [] if rest.is_empty() => {
            let runs = context.store.list()?;
            let first: Vec<Value> = runs.iter().take(PAGE).map(listed).collect();
            Ok(json!({"runs": first, "of": runs.len()}))
        }
        [run] => one(context, &decoded(run).ok_or_else(unknown)?),
        [run, analysis] => {
            let Some(analysis) = analyses::find(analysis) else {
                let known: Vec<String> = analyses::ALL.iter().map(|analysis| analysis.slug()).collect();
                return Err(Refusal::unknown(
                    "analysis",
                    analysis,
                    &known,
                    "read the report of one that exists",
                ));
            };
            let run = context.open(&decoded(run).ok_or_else(unknown)?)?;
            let report = context.report(&run, &[], analysis, &Scope::default(), &Params::default())?;
            let budget = Budget { max_tokens: TOKENS, ..Budget::default() };
            Ok(budget.fit(&tools::draft("report", &run.info.id, &report))?.structured)
        }
        _ => Err(unknown()),
    }
}

fn listed(run: &RunInfo) -> Value {
    json!({"id": run.id, "uri": address(&run.id), "hosts": run.hosts.len(), "size_bytes": run.size_bytes,
        "modified_ms": run.modified_ms()})
}

fn one(context: &Context, id: &str) -> Result<Value, Refusal> {
    let run = context.open(id)?;
    let info = &run.info;
    let devices: Vec<Value> = run
        .profile
        .devices
        .iter()
        .map(|device| json!({"name": device.name, "type": device.type_name}))
        .collect();
    let at = address(&info.id);
    let reports: Vec<String> =
        analyses::ALL.iter().map(|analysis| format!("{at}/{}", analysis.slug())).collect();
    Ok(json!({"id": info.id, "name": info.name, "path": info.path, "hosts": info.hosts,
        "size_bytes": info.size_bytes, "modified_ms": info.modified_ms(), "devices": devices, "reports": reports}))
}

/// The address of a run: ids may be paths, and a path is one part of it.
pub(crate) fn address(id: &str) -> String {
    let mut out = format!("{RUNS}/");
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A part of an address as it was before it was made one; `None` for what never was.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = digit(rest.next())? * 16 + digit(rest.next())?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_in_addresses() {
        for id in ["run", "a/plugins/profile/b c", "läuft 100%", "2026_01_01"] {
            let address = address(id);
            let part = address.strip_prefix("haloscope://runs/").unwrap();
            assert!(!part.contains('/') && part.is_ascii());
            assert_eq!(decoded(part).as_deref(), Some(id));
        }
        assert_eq!((decoded("%zz"), decoded("%4"), decoded("%ff"), decoded("")), (None, None, None, None));
    }
}

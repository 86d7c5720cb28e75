//! Where a person sees a run.

use serde_json::json;

use super::shaped::Shaped;
use super::{run_argument, text};
use crate::Tool;

/// XProf's names of its views, and our pages.
const PAGES: [(&str, &str); 10] = [
    ("overview", ""),
    ("trace_viewer", "timeline"),
    ("op_profile", "op-profile"),
    ("framework_op_stats", "ops"),
    ("memory_viewer", "memory"),
    ("pod_viewer", "hosts"),
    ("graph_viewer", "hlo"),
    ("roofline_model", "roofline"),
    ("input_pipeline", "input"),
    ("diagnosis", "diagnose"),
];

pub(super) fn tool() -> Tool {
    let fields = json!({"run": text(), "overview": text()});
    let description = "Addresses of the pages that show a run to a person; if none is served, the command that serves them.";
    super::tool(
        "xprof_trace_url",
        "links",
        description,
        vec![run_argument()],
        &["run"],
        fields,
        |context, arguments, _| {
            let run = context.run(arguments, "run")?;
            let base = context.page.as_deref().unwrap_or("http://127.0.0.1:8791/");
            let base = base.trim_end_matches('/');
            let host = haloscope_compat::host_names(&run.profile).first().map(|host| (*host).to_owned());
            let mut shaped = Shaped::of_run(&run.info.id);
            for (name, page) in PAGES {
                let address = json!(format!("{base}/{}", query(&run.info.id, page)));
                shaped = if page.is_empty() { shaped.with(name, address) } else { shaped.and(name, address) };
            }
            if context.page.is_none() {
                let place = context.store.place().unwrap_or_else(|| ".".to_owned());
                let command = format!("haloscope serve '{}'", place.replace('\'', r"'\''"));
                let note = "this server has no page: run the command; it prints the address and token";
                shaped = shaped
                    .with("served", json!(false))
                    .and("command", json!(command))
                    .and("note", json!(note));
            }
            Ok(shaped.and("host", json!(host)))
        },
    )
}

/// The page's address is its state: see `web/src/state/url.ts`.
fn query(run: &str, page: &str) -> String {
    let page = if page.is_empty() { String::new() } else { format!("&page={page}") };
    format!("?run={}{page}", encoded(run))
}

/// A run's id in an address; what people read stays readable.
fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' | b',' | b':' | b'@' => {
            char::from(byte).to_string()
        }
        b' ' => "+".to_owned(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_page() {
        assert_eq!(query("a/b c&d", "op-profile"), "?run=a/b+c%26d&page=op-profile");
        assert_eq!(query("ü", ""), "?run=%C3%BC");
    }
}

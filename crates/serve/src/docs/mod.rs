//! `/docs`: the documentation that comes with the program, as pages.
//!
//! The Markdown of `docs/` is embedded as it is and made into HTML when somebody asks for it. Every heading, and every value and
//! column of an analysis' reference, has an anchor: that is where the numbers of the page lead (`web/src/api/anchors.ts`).

mod html;

use axum::extract::Path;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};

use crate::answer::Failure;
use crate::page;

/// The texts below `docs/` by name, such as `analyses/ops`, sorted.
static PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/docs.rs"));
/// The name of the page that lists the others.
const INDEX: &str = "README";
const STYLE: &str = include_str!("style.css");
const STYLE_NAME: &str = "style.css";

/// Pages that are a part of another one now, and where they stand there.
const MOVED: [(&str, &str); 22] = [
    ("cache", "benchmarks#the-cache"),
    ("capture-advice", "capture#what-to-ask-of-the-profiler"),
    ("capture-from-the-page", "capture#capture-from-the-page"),
    ("ci", "comparison#a-gate-in-ci"),
    ("cluster", "query#sql-on-several-machines"),
    ("cookbook", "tutorial#cookbook-from-what-you-see-to-what-to-ask"),
    ("export", "share#exports"),
    ("fleet", "comparison#many-runs-at-once"),
    ("json", "automation#reports-as-json"),
    ("layouts", "runs#where-runs-lie-and-how-they-are-laid-out"),
    ("ledger", "comparison#a-history-of-runs-the-ledger"),
    ("many-hosts", "runs#runs-of-many-hosts-and-bounded-memory"),
    ("mcp", "automation#tools-for-agents-mcp"),
    ("mcp-tools", "automation#tools-of-the-mcp-server-beyond-the-registry"),
    ("object-stores", "runs#runs-in-object-stores"),
    ("parts", "runs#parts-of-runs"),
    ("performance", "benchmarks#what-reading-costs"),
    ("releasing", "#check-a-release"),
    ("report", "share#reports-in-one-file"),
    ("run", "capture#haloscope-run"),
    ("tensorboard", "python#tensorboard"),
    ("windows", "benchmarks#windows-of-time"),
];

/// A page of the documentation as HTML, by its path below `/docs/`; the empty path is the index. `None` where there is no such page.
#[must_use]
pub fn docs_page(path: &str) -> Option<String> {
    let name = if path.is_empty() { INDEX } else { path };
    let (_, text) = PAGES.iter().find(|(known, _)| *known == name)?;
    Some(html::page(name, text))
}

/// Markdown, such as that of a report, as HTML that runs nothing and loads nothing.
#[must_use]
pub fn markdown_fragment(text: &str) -> String {
    html::fragment(text)
}

/// Whether there is a page of this name.
fn is_page(name: &str) -> bool {
    PAGES.iter().any(|(known, _)| *known == name)
}

/// `/docs`: relative links on the index want the slash.
pub(crate) async fn root() -> Redirect {
    Redirect::permanent("/docs/")
}

/// `/docs/`: the index.
pub(crate) async fn index(headers: HeaderMap) -> Response {
    answer("", &headers)
}

/// `/docs/{path}`: a page, or the style of all. Files as links of the repository name them are taken too.
pub(crate) async fn file(path: Path<String>, headers: HeaderMap) -> Response {
    answer(&path, &headers)
}

fn answer(path: &str, headers: &HeaderMap) -> Response {
    if path == STYLE_NAME {
        return page::tagged(STYLE.as_bytes().to_vec(), "text/css; charset=utf-8", headers);
    }
    if let Some(name) = path.strip_suffix(".md").filter(|name| is_page(name)) {
        let to = if name == INDEX { "/docs/".to_owned() } else { format!("/docs/{name}") };
        return Redirect::permanent(&to).into_response();
    }
    let name = path.strip_suffix(".md").unwrap_or(path);
    if let Some((_, to)) = MOVED.iter().find(|(old, _)| *old == name) {
        return Redirect::permanent(&format!("/docs/{to}")).into_response();
    }
    match docs_page(path) {
        Some(text) => page::tagged(text.into_bytes(), "text/html; charset=utf-8", headers),
        None => {
            Failure::not_found(format!("there is no page /docs/{path}"), "/docs/ lists them").into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links of a page to other pages, with what stands behind the `#`.
    fn links(html: &str) -> impl Iterator<Item = &str> {
        html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next())
    }

    #[test]
    fn every_link_leads_to_a_page_and_an_anchor_that_are_there() {
        assert!(PAGES.len() > 40, "{} pages", PAGES.len());
        let mut seen = 0;
        for (name, _) in PAGES {
            let path = if *name == INDEX { "" } else { name };
            let text = docs_page(path).expect("a page");
            for link in links(&text) {
                let (to, anchor) = link.split_once('#').unwrap_or((link, ""));
                let target = match to.strip_prefix("/docs/") {
                    Some(STYLE_NAME) => continue,
                    Some(other) => docs_page(other),
                    None if to.is_empty() => Some(text.clone()),
                    None if matches!(to, "/" | "/favicon.svg") || to.starts_with("https://") => continue,
                    None => None,
                };
                let Some(target) = target else { panic!("{name}: nothing is at {link}") };
                assert!(
                    anchor.is_empty() || target.contains(&format!("id=\"{anchor}\"")),
                    "{name}: no anchor {link}"
                );
                seen += 1;
            }
            // Nothing is loaded from elsewhere, and nothing runs.
            for bad in ["<script", "<style", " style=", "<img", "src=", "<iframe"] {
                assert!(!text.contains(bad), "{name} holds {bad}");
            }
        }
        assert!(seen > 500, "{seen} links");
    }

    #[test]
    fn what_has_moved_is_found_where_it_is_now() {
        for (old, to) in MOVED {
            let (page, anchor) = to.split_once('#').unwrap();
            let text = docs_page(page).unwrap();
            assert!(text.contains(&format!("id=\"{anchor}\"")), "{to}");
            assert!(!is_page(old), "{old}");
        }
    }

    #[test]
    fn every_word_of_the_glossary_has_an_anchor() {
        let text = docs_page("concepts").unwrap();
        for word in ["ceiling", "lever", "falsifier", "self-time", "steady"] {
            assert_eq!(text.matches(&format!("id=\"term-{word}\"")).count(), 1, "{word}");
        }
    }

    #[test]
    fn html_in_markdown_is_text() {
        let html = markdown_fragment("| a |\n|---|\n| <b>x</b> |\n\n<script>alert(1)</script>\n");
        assert!(
            html.contains("<table>") && html.contains("&lt;script&gt;") && html.contains("&lt;b&gt;"),
            "{html}"
        );
        assert!(!html.contains("<script") && !html.contains("<b>"));
    }

    #[test]
    fn every_analysis_has_a_page() {
        for analysis in haloscope_analyses::ALL {
            let text = docs_page(&format!("analyses/{}", analysis.slug())).expect("a page");
            assert!(text.contains("id=\"reference\""), "{}", analysis.id);
        }
        assert!(docs_page("analyses/nothing").is_none() && docs_page("../Cargo").is_none());
    }
}

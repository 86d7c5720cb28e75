//! Markdown as HTML with anchors.

use std::collections::HashMap;

use pulldown_cmark::{Alignment, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{INDEX, is_page};
use crate::page::escaped;

/// Headings under which a page says how its numbers come about, the best first.
const HOW: [&str; 3] = ["how-it-is-computed", "how-it-is-counted", "how-to-read-it"];

/// A page: its text between what all pages share. `name` is its path below `docs/`, without the ending.
pub(super) fn page(name: &str, text: &str) -> String {
    let events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let mut marked = Marked::default();
    let how = how_of(&events);
    let events = marked.events(name, &events, how.as_deref());
    let mut body = String::with_capacity(text.len() * 2);
    pulldown_cmark::html::push_html(&mut body, events.into_iter());
    let title = escaped(marked.title.as_deref().unwrap_or(name));
    let mut contents = String::new();
    for (id, words) in &marked.parts {
        contents += &format!("<li><a href=\"#{id}\">{}</a></li>", escaped(words));
    }
    if !contents.is_empty() {
        contents = format!("<nav class=\"contents\" aria-label=\"On this page\"><ul>{contents}</ul></nav>");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} · Haloscope</title>\n\
         <link rel=\"icon\" href=\"/favicon.svg\">\n<link rel=\"stylesheet\" href=\"/docs/style.css\">\n</head>\n<body>\n\
         <header><a href=\"/\">Haloscope</a> <a href=\"/docs/\">Documentation</a></header>\n{contents}\n<main>\n{body}</main>\n\
         </body>\n</html>\n"
    )
}

/// Markdown as HTML without anchors, for pages of others. HTML in the Markdown is shown as it is written: none of it is believed.
pub(super) fn fragment(text: &str) -> String {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    });
    let mut body = String::with_capacity(text.len() * 2);
    pulldown_cmark::html::push_html(&mut body, events);
    body
}

/// What a walk over a page's events learns and adds.
#[derive(Default)]
struct Marked {
    title: Option<String>,
    /// Headings of the second level: anchor and words.
    parts: Vec<(String, String)>,
    /// How often an anchor was wanted.
    taken: HashMap<String, usize>,
    /// What rows of tables under the last heading are.
    rows: Rows,
}

/// What the rows of a table are, by the heading above it.
#[derive(Default)]
enum Rows {
    #[default]
    Plain,
    /// Headline values.
    Values,
    /// Columns of the table or tree with this id.
    Columns(String),
    /// Words with their meaning.
    Terms,
}

impl Marked {
    fn events<'a>(&mut self, name: &str, events: &[Event<'a>], how: Option<&str>) -> Vec<Event<'a>> {
        let mut out = Vec::with_capacity(events.len());
        for at in 0..events.len() {
            let rest = events.get(at..).unwrap_or_default();
            let Some(event) = rest.first() else { break };
            match event {
                Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                    let id = self.heading(*level, rest);
                    let (classes, attrs) = (classes.clone(), attrs.clone());
                    out.push(Event::Start(Tag::Heading {
                        level: *level,
                        id: Some(id.into()),
                        classes,
                        attrs,
                    }));
                }
                Event::Start(Tag::TableCell) => {
                    out.push(event.clone());
                    let first = matches!(
                        at.checked_sub(1).and_then(|i| events.get(i)),
                        Some(Event::Start(Tag::TableRow))
                    );
                    if let (true, Some(Event::Code(id) | Event::Text(id))) = (first, rest.get(1))
                        && let Some(anchor) = self.row(id)
                    {
                        out.push(Event::InlineHtml(
                            format!("<span class=\"anchor\" id=\"{anchor}\"></span>").into(),
                        ));
                    }
                }
                // Alignment would be style in the text, which the content policy does not allow.
                Event::Start(Tag::Table(columns)) => {
                    out.push(Event::Start(Tag::Table(vec![Alignment::None; columns.len()])));
                }
                Event::End(TagEnd::TableCell) => {
                    // The last cell of a row of the reference leads on to the formula.
                    let last = matches!(rest.get(1), Some(Event::End(TagEnd::TableRow)));
                    if let (true, Some(how), false) =
                        (last, how, matches!(self.rows, Rows::Plain | Rows::Terms))
                    {
                        out.push(Event::InlineHtml(
                            format!(" <a class=\"how\" href=\"#{how}\">how</a>").into(),
                        ));
                    }
                    out.push(event.clone());
                }
                Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                    let dest_url = address(name, dest_url);
                    out.push(Event::Start(Tag::Link {
                        link_type: *link_type,
                        dest_url: dest_url.into(),
                        title: title.clone(),
                        id: id.clone(),
                    }));
                }
                Event::Html(text) | Event::InlineHtml(text) if text.trim() == "<br>" => {
                    out.push(Event::HardBreak);
                }
                // What is not ours to interpret is not passed on, comments mark what is generated, and pictures would be files
                // beside the pages.
                Event::Html(_)
                | Event::InlineHtml(_)
                | Event::Start(Tag::Image { .. })
                | Event::End(TagEnd::Image) => {}
                other => out.push(other.clone()),
            }
        }
        links_elsewhere(out)
    }

    /// The anchor of a heading that these events begin with.
    fn heading(&mut self, level: HeadingLevel, events: &[Event<'_>]) -> String {
        let words = words_of(events);
        self.rows = rows_below(events, &words);
        let id = self.free(slug(&words));
        if self.title.is_none() {
            self.title = Some(words);
        } else if level == HeadingLevel::H2 {
            self.parts.push((id.clone(), words));
        }
        id
    }

    /// The anchor of a row that describes this value or column, the first time that it comes.
    fn row(&mut self, id: &str) -> Option<String> {
        let anchor = match &self.rows {
            Rows::Plain => return None,
            Rows::Values => format!("value-{id}"),
            Rows::Columns(table) => format!("column-{table}-{id}"),
            Rows::Terms => format!("term-{id}"),
        };
        let anchor = slug(&anchor);
        (!self.taken.contains_key(&anchor)).then(|| self.free(anchor))
    }

    /// The anchor, with a number behind it where it is taken already.
    fn free(&mut self, id: String) -> String {
        let count = self.taken.entry(id.clone()).or_default();
        *count += 1;
        if *count == 1 { id } else { format!("{id}-{}", *count - 1) }
    }
}

/// What the tables under a heading describe: `Headline values`, `Glossary`, ``Table `ops`: …``, ``Tree `calls`: …``.
fn rows_below(events: &[Event<'_>], words: &str) -> Rows {
    if words == "Headline values" {
        return Rows::Values;
    }
    if words == "Glossary" {
        return Rows::Terms;
    }
    match events {
        [_, Event::Text(what), Event::Code(id), ..] if matches!(what.trim(), "Table" | "Tree") => {
            Rows::Columns(id.to_string())
        }
        _ => Rows::Plain,
    }
}

/// The anchor of the heading that says how the page's numbers are computed; else the first of the page.
fn how_of(events: &[Event<'_>]) -> Option<String> {
    let mut slugs = Vec::new();
    for (at, event) in events.iter().enumerate() {
        if matches!(event, Event::Start(Tag::Heading { level: HeadingLevel::H2, .. })) {
            slugs.push(slug(&words_of(events.get(at..).unwrap_or_default())));
        }
    }
    let known = HOW.into_iter().map(str::to_owned).find(|how| slugs.contains(how));
    known.or_else(|| slugs.into_iter().find(|slug| !matches!(slug.as_str(), "example" | "reference")))
}

/// The words of the heading that these events begin with.
fn words_of(events: &[Event<'_>]) -> String {
    let mut words = String::new();
    for event in events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_)))) {
        if let Event::Text(text) | Event::Code(text) = event {
            words.push_str(text);
        }
    }
    words
}

/// As code hosts make anchors of headings: lower case, `-` for spaces, without signs.
fn slug(words: &str) -> String {
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// Where a link of the page `name` leads on this server; empty where that does not come with the program.
fn address(name: &str, link: &CowStr<'_>) -> String {
    if link.starts_with('#') || link.starts_with("https://") {
        return link.to_string();
    }
    let (path, anchor) = link.split_once('#').map_or((&**link, None), |(path, anchor)| (path, Some(anchor)));
    let mut parts: Vec<&str> = name.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.is_empty() => return String::new(),
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    let found = parts.join("/");
    let found = found.strip_suffix(".md").unwrap_or(&found);
    let found = match found {
        INDEX => "",
        page if is_page(page) => page,
        _ => return String::new(),
    };
    anchor.map_or_else(|| format!("/docs/{found}"), |anchor| format!("/docs/{found}#{anchor}"))
}

/// Links that lead nowhere here become their words.
fn links_elsewhere(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let mut out = Vec::with_capacity(events.len());
    let mut open = Vec::new();
    for event in events {
        match &event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                let leads = !dest_url.is_empty();
                open.push(leads);
                if leads {
                    out.push(event);
                }
            }
            Event::End(TagEnd::Link) => {
                if open.pop().unwrap_or(true) {
                    out.push(event);
                }
            }
            _ => out.push(event),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# `ops`\n\nSee [steps](steps.md#limits), [code](../../crates/x.rs) and [e](https://e.org/).\n\n\
        ## How it is computed\n\nx\n\n## Reference\n\n### Headline values\n\n| id | what |\n|---|---|\n| `op_count` | a <b>count</b> |\n\n\
        ### Table `ops` with `--on host`: Ops\n\n| column | what |\n|---|---|\n| `name` | n |\n\n\
        ### Table `ops`: Ops\n\n| column | what |\n|---|---|\n| `name` | n |\n| `self_ps` | s |\n\n<script>alert(1)</script>\n";

    #[test]
    fn values_and_columns_have_anchors_that_lead_to_the_formula() {
        let html = page("analyses/ops", TEXT);
        for id in ["ops", "how-it-is-computed", "value-op_count", "column-ops-name", "column-ops-self_ps"] {
            assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}: {html}");
        }
        assert_eq!(html.matches("href=\"#how-it-is-computed\">how</a>").count(), 4, "one a row: {html}");
        assert!(html.contains("<title>ops · Haloscope</title>"), "{html}");
    }

    #[test]
    fn links_stay_here_and_html_is_not_passed_on() {
        let html = page("analyses/ops", TEXT);
        assert!(html.contains("<a href=\"/docs/analyses/steps#limits\">steps</a>"), "{html}");
        assert!(html.contains(" code and <a href=\"https://e.org/\">"), "{html}");
        assert!(!html.contains("<script") && !html.contains("<b>"), "{html}");
        assert_eq!(address("analyses/ops", &"../README.md".into()), "/docs/");
        assert_eq!(address("query", &"analyses/ops.md".into()), "/docs/analyses/ops");
        assert_eq!(address("query", &"../../../etc/passwd".into()), "");
    }

    #[test]
    fn anchors_are_those_of_code_hosts() {
        assert_eq!(
            slug("The time without a program, in disjoint parts"),
            "the-time-without-a-program-in-disjoint-parts"
        );
        assert_eq!(slug("no_step_markers"), "no_step_markers");
    }
}

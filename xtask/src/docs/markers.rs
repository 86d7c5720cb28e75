//! Markers in a page, and what stands between them.

use anyhow::{Context, Result, bail};

/// What a pair of markers asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Marker<'a> {
    /// `<!-- generated: start -->`: what the page's place says.
    Generated,
    /// `<!-- example: overview fixtures/runs/cpu-train -->`: the output of this command line.
    Example(&'a str),
}

/// The page with everything between markers replaced by what `generate` gives; all else is kept.
///
/// # Errors
/// A marker that does not end, or what `generate` says.
pub(super) fn fill(page: &str, mut generate: impl FnMut(&Marker<'_>) -> Result<String>) -> Result<String> {
    let mut out = String::with_capacity(page.len());
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out += line;
        out.push('\n');
        let Some((marker, end)) = parse(line) else { continue };
        lines
            .by_ref()
            .find(|l| l.trim() == end)
            .with_context(|| format!("expected `{end}` after `{line}`, found the end of the page"))?;
        let text = generate(&marker).with_context(|| format!("below `{line}`"))?;
        if text.lines().any(|l| parse(l).is_some()) {
            bail!("what `{line}` gives holds a marker itself");
        }
        out += text.trim_end();
        out.push('\n');
        out += end;
        out.push('\n');
    }
    Ok(out)
}

/// The marker in a line, and the line that ends it.
fn parse(line: &str) -> Option<(Marker<'_>, &'static str)> {
    let inside = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    if inside == "generated: start" {
        return Some((Marker::Generated, "<!-- generated: end -->"));
    }
    let command = inside.strip_prefix("example:")?.trim();
    (command != "end").then_some((Marker::Example(command), "<!-- example: end -->"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title\n\nprose\n<!-- example: ops run --by op -->\nold\nold\n<!-- example: end -->\n\
                        more prose\n<!-- generated: start -->\n<!-- generated: end -->\nlast\n";

    #[test]
    fn prose_is_kept_and_the_rest_is_replaced() {
        let new = fill(PAGE, |marker| {
            Ok(match marker {
                Marker::Generated => "reference\n\n".into(),
                Marker::Example(command) => format!("$ {command}\n"),
            })
        });
        let new = new.unwrap();
        assert_eq!(
            new,
            "# Title\n\nprose\n<!-- example: ops run --by op -->\n$ ops run --by op\n<!-- example: end -->\n\
             more prose\n<!-- generated: start -->\nreference\n<!-- generated: end -->\nlast\n"
        );
        let again = fill(&new, |marker| Ok(format!("{marker:?}\n")));
        assert!(again.unwrap().contains("\nGenerated\n"));
    }

    #[test]
    fn a_marker_without_an_end_is_named() {
        let error = fill("a\n<!-- generated: start -->\nb\n", |_| Ok(String::new())).unwrap_err();
        assert!(error.to_string().contains("expected `<!-- generated: end -->`"), "{error}");
        let nested = fill("<!-- generated: start -->\n<!-- generated: end -->\n", |_| {
            Ok("<!-- generated: start -->".into())
        });
        assert!(nested.is_err());
    }
}

//! `haloscope capture --explain QUESTION`: what to ask of the profiler for a question.

use std::io::{self, Write};

use clap::Arg;
use clap::builder::PossibleValuesParser;
use haloscope_analyses::capture_advice::{self, Kind, Question, Setting, words};

use crate::{Failure, Printer};

/// Columns of the text.
const WIDTH: usize = 80;

pub(super) fn arg() -> Arg {
    let ids = capture_advice::questions().iter().map(|question| question.id.as_str());
    Arg::new("explain")
        .long("explain")
        .value_name("QUESTION")
        .value_parser(PossibleValuesParser::new(ids))
        // Nobody is captured: no server and no log folder are needed.
        .exclusive(true)
        .help("Prints which profiler options a question needs and what they cost; captures nothing")
}

/// Prints the page of a question.
///
/// # Errors
/// [`Failure`] where stdout takes no more.
pub(super) fn run(id: &str, printer: &mut Printer) -> Result<u8, Failure> {
    // The parser takes no other.
    let Some(question) = capture_advice::find(id) else { return Ok(2) };
    printer.page(|out| page(question, out))?;
    Ok(0)
}

fn page(question: &Question, out: &mut dyn Write) -> io::Result<()> {
    paragraph(out, "", &question.asks)?;
    let start = [("TPU", "tpu"), ("GPU", "gpu")]
        .map(|(name, id)| (name, words::environment(question, id)))
        .into_iter()
        .filter(|(_, text)| !text.is_empty());
    for (name, text) in start {
        writeln!(out, "\nBefore the program starts ({name})")?;
        indented(out, &text)?;
    }
    writeln!(out, "\nWhile it runs, with jax.profiler.start_server(PORT) in it")?;
    for (name, text) in by_platform(question, words::command) {
        let comment = if name.is_empty() { String::new() } else { format!("  # {name}") };
        indented(out, &format!("{text}{comment}"))?;
    }
    writeln!(out, "\nOr from inside")?;
    for (name, text) in by_platform(question, words::python) {
        if !name.is_empty() {
            writeln!(out, "  # {name}")?;
        }
        indented(out, text.trim_end())?;
    }
    writeln!(out, "\nHow long")?;
    paragraph(out, "  ", &question.duration)?;
    let all = capture_advice::of_question(&question.id);
    let (optional, always): (Vec<&Setting>, Vec<&Setting>) = all.into_iter().partition(|s| s.optional);
    settings(out, "What each gives", &always)?;
    settings(out, "To think about", &optional)?;
    writeln!(out, "\nTo know")?;
    for remark in &question.remarks {
        paragraph(out, "  ", remark)?;
    }
    writeln!(out, "\nThen ask")?;
    for analysis in &question.answers {
        writeln!(out, "  haloscope {analysis} LOGDIR")?;
    }
    writeln!(out, "  haloscope inspect LOGDIR    what the capture recorded, and what is missing")
}

/// One text without a name where platforms do not differ, else one for each.
fn by_platform(question: &Question, text: fn(&Question, &str) -> String) -> Vec<(&'static str, String)> {
    let (tpu, gpu) = (text(question, "tpu"), text(question, "gpu"));
    if tpu == gpu { vec![("", tpu)] } else { vec![("TPU", tpu), ("GPU", gpu)] }
}

fn settings(out: &mut dyn Write, title: &str, all: &[&Setting]) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    for setting in all {
        let place = if setting.kind == Kind::Program {
            String::new()
        } else {
            format!(" in {}", setting.kind.place())
        };
        let only = if setting.platform.is_empty() {
            String::new()
        } else {
            format!(" ({} only)", setting.platform.to_uppercase())
        };
        paragraph(out, "  ", &format!("{}{place}{only}", words::assignment(setting)))?;
        paragraph(out, "    gives    ", &setting.gives)?;
        paragraph(out, "    costs    ", &setting.costs)?;
        if !setting.standard.is_empty() {
            paragraph(out, "    default  ", &setting.standard)?;
        }
        paragraph(out, "    source   ", &setting.source)?;
    }
    Ok(())
}

fn indented(out: &mut dyn Write, text: &str) -> io::Result<()> {
    text.lines().try_for_each(|line| writeln!(out, "  {line}"))
}

/// Writes a text in lines of [`WIDTH`] columns, the first behind `start`, the others below it.
fn paragraph(out: &mut dyn Write, start: &str, text: &str) -> io::Result<()> {
    let mut line = start.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}")?;
            line = " ".repeat(start.chars().count());
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(id: &str) -> String {
        let mut out = Vec::new();
        page(capture_advice::find(id).unwrap(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_question_has_a_page_to_copy_from() {
        for question in capture_advice::questions() {
            let text = text(&question.id);
            assert!(text.starts_with(&question.asks[..20]), "{text}");
            assert!(text.contains("haloscope capture HOST:PORT -o LOGDIR"), "{text}");
            assert!(text.contains("options = jax.profiler.ProfileOptions()"), "{text}");
            assert!(text.contains("haloscope inspect LOGDIR"), "{text}");
        }
        assert!(text("kernel").contains("--xla_xprof_enable_custom_call_tracing=true"));
        assert!(!text("input").contains("Before the program starts"));
    }

    #[test]
    fn lines_break_below_their_start() {
        let mut out = Vec::new();
        paragraph(&mut out, "  a  ", &"word ".repeat(20)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH) && text.lines().count() == 2,
            "{text}"
        );
        assert!(text.lines().nth(1).unwrap().starts_with("     word"), "{text}");
    }
}

//! The help of the whole program: its commands by the question that a person comes with.

use std::fmt::Write as _;

use haloscope_analyses as analyses;
use haloscope_report::present;
use haloscope_time::analysis::MenuGroup;

use super::{Other, analysis};
use crate::printer;

/// What stands where; the commands come before the options.
pub(super) const TEMPLATE: &str =
    "{about}\n\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// What a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The question of a group of analyses.
    Menu(MenuGroup),
    /// To make a profile.
    Profile,
    /// To look at a run elsewhere, or hand it on.
    Show,
    /// The program itself.
    Program,
}

impl Purpose {
    /// All, in the order of the help.
    const ALL: [Self; 10] = [
        Self::Menu(MenuGroup::Start),
        Self::Menu(MenuGroup::Time),
        Self::Menu(MenuGroup::Work),
        Self::Menu(MenuGroup::Memory),
        Self::Menu(MenuGroup::Programs),
        Self::Menu(MenuGroup::Change),
        Self::Menu(MenuGroup::File),
        Self::Profile,
        Self::Show,
        Self::Program,
    ];

    /// The question, or what one wants.
    fn heading(self) -> &'static str {
        match self {
            Self::Menu(MenuGroup::Start) => "Why is it slow?",
            Self::Menu(MenuGroup::Time) => "Where does the time go?",
            Self::Menu(MenuGroup::Work) => "What do the devices work on?",
            Self::Menu(MenuGroup::Memory) => "What fills the memory?",
            Self::Menu(MenuGroup::Programs) => "What did the compiler build?",
            Self::Menu(MenuGroup::Change) => "What changed?",
            Self::Menu(MenuGroup::File) => "What is in the profile?",
            Self::Profile => "Take a profile",
            Self::Show => "Look at a run elsewhere, or share it",
            Self::Program => "This program",
        }
    }
}

/// Columns in which a command's name stands.
const NAME: usize = 16;

/// The commands below their headings.
pub(super) fn commands(others: &[Other]) -> String {
    let width = printer::width().clamp(NAME + 24, analysis::HELP_WIDTH);
    let mut all: Vec<(Purpose, String, String)> = Vec::new();
    for one in analyses::ALL.iter().filter(|analysis| !analysis.id.contains(' ')) {
        all.push((Purpose::Menu(one.group), one.id.to_owned(), short(one.question)));
    }
    for family in analyses::FAMILIES {
        let group = analyses::members(family.id).next().map_or(MenuGroup::File, |(_, member)| member.group);
        all.push((Purpose::Menu(group), family.id.to_owned(), family.about.to_owned()));
    }
    for other in others {
        let command = (other.command)();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        all.push((other.purpose, command.get_name().to_owned(), about));
    }
    let mut text = String::new();
    for purpose in Purpose::ALL {
        let _ = writeln!(text, "{}", purpose.heading());
        for (_, name, about) in all.iter().filter(|(of, ..)| *of == purpose) {
            let lines = present::wrap(about, width.saturating_sub(NAME));
            let _ =
                writeln!(text, "  {name:<0$}{1}", NAME - 2, lines.join(&format!("\n{}", " ".repeat(NAME))));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// The first part of a question, as a question: `Why is this run slow?`
fn short(question: &str) -> String {
    let end = [", ", ": ", " ("].iter().filter_map(|mark| question.find(mark)).min();
    end.map_or_else(|| question.to_owned(), |end| format!("{}?", &question[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_once_and_short_questions_are_questions() {
        let text = commands(super::super::OTHERS);
        let all = super::super::command();
        for command in all.get_subcommands() {
            let name = command.get_name();
            let start = format!("  {name} ");
            assert_eq!(text.lines().filter(|line| line.starts_with(&start)).count(), 1, "{name}\n{text}");
        }
        for analysis in analyses::ALL.iter().filter(|analysis| !analysis.id.contains(' ')) {
            let short = short(analysis.question);
            assert!(short.ends_with('?') && short.split(' ').count() > 2, "{short}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

//! The settings, as data.

use std::sync::LazyLock;

use serde::Deserialize;

const TABLE: &str = include_str!("table.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    #[serde(default)]
    question: Vec<Question>,
    #[serde(default)]
    setting: Vec<Setting>,
}

/// A question that wants a capture of its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The word for it: `kernel`, `memory`, `communication`, `input`.
    pub id: String,
    /// It in words.
    pub asks: String,
    /// How long to capture.
    pub duration: String,
    /// Analyses that answer it.
    pub answers: Vec<String>,
    /// What else to know.
    pub remarks: Vec<String>,
}

/// How a setting is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A field of `ProfileOptions`.
    Option,
    /// A key of `ProfileOptions.advanced_configuration`.
    Advanced,
    /// A flag in the environment variable `LIBTPU_INIT_ARGS`.
    Libtpu,
    /// A flag in the environment variable `XLA_FLAGS`.
    Xla,
    /// A change of the program.
    Program,
}

impl Kind {
    /// Where it is set, for tables.
    #[must_use]
    pub fn place(self) -> &'static str {
        match self {
            Self::Option => "ProfileOptions",
            Self::Advanced => "advanced_configuration",
            Self::Libtpu => "LIBTPU_INIT_ARGS",
            Self::Xla => "XLA_FLAGS",
            Self::Program => "the program",
        }
    }
}

/// One setting.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The questions that it serves.
    pub questions: Vec<String>,
    /// How it is made.
    pub kind: Kind,
    /// `tpu` or `gpu` where it is for one of them only, else empty.
    #[serde(default)]
    pub platform: String,
    /// It costs something, or is for some runs only: to be thought about before it is set.
    #[serde(default)]
    pub optional: bool,
    /// Its name; of a change of the program, the change.
    pub name: String,
    /// Its value; empty where it has none.
    #[serde(default)]
    pub value: String,
    /// The value that it has where nobody sets it; empty where that is not known.
    #[serde(default)]
    pub standard: String,
    /// What a profile has more with it.
    pub gives: String,
    /// What it costs.
    pub costs: String,
    /// What a profile lacks without it: an id of [`crate::capture_advice::missing`]; empty where that cannot be seen.
    #[serde(default)]
    pub lacks: String,
    /// Who says so.
    pub source: String,
}

static DATA: LazyLock<Data> = LazyLock::new(|| toml::from_str(TABLE).unwrap_or_default());

/// All questions.
#[must_use]
pub fn questions() -> &'static [Question] {
    &DATA.question
}

/// All settings.
#[must_use]
pub fn settings() -> &'static [Setting] {
    &DATA.setting
}

/// The question of this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Question> {
    questions().iter().find(|question| question.id == id)
}

/// The settings that serve a question: those that always do first, in the order of their kinds.
#[must_use]
pub fn of_question(id: &str) -> Vec<&'static Setting> {
    let serves = |setting: &&Setting| setting.questions.iter().any(|question| question == id);
    let mut all: Vec<&Setting> = settings().iter().filter(serves).collect();
    all.sort_by_key(|setting| (setting.optional, setting.kind));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use haloscope_program::flags::table as flags;

    #[test]
    fn the_table_is_read_and_every_question_has_settings() {
        let data: Result<Data, _> = toml::from_str(TABLE);
        assert!(data.is_ok(), "{data:?}");
        let ids: Vec<&str> = questions().iter().map(|question| question.id.as_str()).collect();
        assert_eq!(ids, ["kernel", "memory", "communication", "input"]);
        for question in questions() {
            assert!(of_question(&question.id).len() >= 5, "{}", question.id);
            for analysis in &question.answers {
                assert!(crate::find(analysis).is_some(), "{analysis}");
            }
        }
        for setting in settings() {
            assert!(setting.questions.iter().all(|id| find(id).is_some()), "{}", setting.name);
            assert!(["", "tpu", "gpu"].contains(&setting.platform.as_str()), "{}", setting.name);
        }
    }

    #[test]
    fn flags_are_known_to_the_releases_that_are_listed() {
        let release = |id: &str| flags::releases().iter().find(|release| release.id == id).unwrap();
        for setting in settings() {
            let id = match setting.kind {
                Kind::Libtpu => "libtpu-0.0.52",
                Kind::Xla => "jaxlib-0.10.2",
                _ => continue,
            };
            let kind = flags::kind_in(release(id), &setting.name);
            assert!(kind.is_some_and(|kind| kind != flags::Kind::Retired), "{} {kind:?}", setting.name);
        }
    }

    #[test]
    fn settings_that_always_serve_come_first() {
        let all = of_question("kernel");
        let first_optional = all.iter().position(|setting| setting.optional).unwrap();
        assert!(all[first_optional..].iter().all(|setting| setting.optional));
        assert!(all.iter().any(|setting| setting.name == "xla_xprof_enable_custom_call_tracing"));
    }
}

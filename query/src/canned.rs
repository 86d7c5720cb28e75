//! Questions that are asked often, as SQL files.

/// A question.
pub(crate) struct Canned {
    /// What stands behind `@`.
    pub(crate) name: &'static str,
    /// The file: what it answers in its first comment, then SQL.
    pub(crate) sql: &'static str,
}

impl Canned {
    /// What it answers.
    pub(crate) fn question(&self) -> &'static str {
        self.sql.lines().next().unwrap_or_default().trim_start_matches('-').trim()
    }
}

macro_rules! canned {
    ($($name:literal),* $(,)?) => {
        [$(Canned { name: $name, sql: include_str!(concat!("../canned/", $name, ".sql")) }),*]
    };
}

/// All of them, in the order in which a person would ask.
pub(crate) static ALL: [Canned; 12] = canned![
    "top-ops",
    "categories",
    "time-by-class",
    "idle-gaps",
    "slow-steps",
    "slow-step-ops",
    "hosts",
    "programs",
    "scopes",
    "op-percentiles",
    "collectives",
    "top-events",
];

/// The question of this name.
pub(crate) fn find(name: &str) -> Option<&'static Canned> {
    ALL.iter().find(|canned| canned.name == name)
}

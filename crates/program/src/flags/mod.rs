//! Flags of XLA and libtpu: what a text says, what is known of them, and what does not go together.
//!
//! What is known is data: [`table`] (what flags are for) and lists of the names that a release has. A name that is in no list is
//! not known here, which does not make it wrong: flags come and go with every release.

pub mod parse;
pub mod table;

pub use parse::{Form, Lost, Use};
pub use table::{Kind, Known, Release, Standing};

use haloscope_profile::{Profile, Stat};

/// A set of flags and where it comes from.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// The flags, in the order of the text.
    pub uses: Vec<Use>,
    /// What they were read from, for people.
    pub from: String,
}

impl Given {
    /// The flags of a text.
    #[must_use]
    pub fn of_text(text: &str, from: impl Into<String>) -> Self {
        Self { uses: parse::parse(text), from: from.into() }
    }

    /// Flags that a profile holds, if it does: words of its planes' facts, such as the environment of the process.
    #[must_use]
    pub fn of_profile(profile: &Profile) -> Option<Self> {
        let mut uses: Vec<Use> = Vec::new();
        for plane in profile.planes.iter().filter(|p| !p.kind.is_device()) {
            for (name, stat) in &plane.stats {
                let Stat::Text(text) = stat else { continue };
                // Hosts of a run have the same flags as a rule: once is enough.
                for one in parse::parse(&format!("{name}={text}")) {
                    if !uses.iter().any(|u| u.name == one.name && u.value == one.value) {
                        uses.push(one);
                    }
                }
            }
        }
        (!uses.is_empty()).then(|| Self { uses, from: "the profile".to_owned() })
    }

    /// The value of a flag that has an effect, by this name or by one that it had before.
    #[must_use]
    pub fn effective(&self, name: &str) -> Option<&Use> {
        let former = table::find(name).map(|known| known.renamed_from.as_slice()).unwrap_or_default();
        let is_it = |u: &&Use| u.lost.is_none() && (u.name == name || former.contains(&u.name));
        self.uses.iter().rev().find(is_it)
    }
}

/// Whether a value says yes; `None` where it is neither yes nor no.
#[must_use]
pub fn is_yes(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "t" | "y" | "enabled" | "kenabled" | "on" => Some(true),
        "false" | "0" | "no" | "f" | "n" | "disabled" | "kdisabled" | "off" => Some(false),
        _ => None,
    }
}

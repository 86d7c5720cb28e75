//! What is known of flags: data with versions.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use haloscope_profile::Profile;

/// What flags are for, which do not go together, and the releases whose names are known.
const TABLE: &str = include_str!("table.toml");

/// Names of flags that releases have, one a line with a letter for the kind.
const LISTS: [(&str, &str); 2] = [
    ("libtpu-0.0.52", include_str!("libtpu-0.0.52.txt")),
    ("jaxlib-0.10.2", include_str!("jaxlib-0.10.2.txt")),
];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    #[serde(default)]
    release: Vec<Release>,
    #[serde(default)]
    flag: Vec<Known>,
    #[serde(default)]
    conflict: Vec<Conflict>,
}

/// A release whose flags are listed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Such as `libtpu-0.0.52`.
    pub id: String,
    /// `libtpu` or `jaxlib`.
    pub library: String,
    /// Its version.
    pub version: String,
    /// A word of the build that a profile states, by which it is recognised.
    #[serde(default)]
    pub build: String,
    /// The environment variable that the library reads.
    pub variable: String,
    /// Where the list comes from.
    pub source: String,
}

/// What is known of a flag.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// Names that it had before.
    #[serde(default)]
    pub renamed_from: Vec<String>,
    /// The oldest release that is known to have it.
    #[serde(default)]
    pub since: String,
    /// What it is for, in a word or two.
    pub intent: String,
    /// What it does.
    pub does: String,
    /// Its value where nobody sets it, as the source says; empty where that is not known.
    #[serde(default)]
    pub default: String,
    /// Times that it is meant to shorten: kinds of collective, `host transfer`, `asynchronous copy`.
    #[serde(default)]
    pub stalls: Vec<String>,
    /// The value to try against them; empty where it is not one to try.
    #[serde(default)]
    pub try_value: String,
    /// Further flags that must stand beside it.
    #[serde(default)]
    pub together: Vec<String>,
    /// Who says so.
    pub source: String,
}

/// Flags that do not go together.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// A flag and the value that matters: `true` or `false`.
    pub flag: String,
    /// That value.
    pub is: bool,
    /// The other flag.
    pub with: String,
    /// The value at which it conflicts.
    pub with_is: bool,
    /// What goes wrong.
    pub why: String,
    /// The text to add or change.
    pub recommendation: String,
    /// Who says so.
    pub source: String,
}

/// What values a flag takes, as the library itself said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Yes or no.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Any text.
    Text,
    /// A word out of several, or a structure.
    Choice,
    /// Not known.
    Unknown,
    /// It was taken out: the library refuses or ignores it.
    Retired,
}

impl Kind {
    fn of(letter: &str) -> Self {
        match letter {
            "b" => Self::Bool,
            "i" => Self::Int,
            "f" => Self::Float,
            "t" => Self::Text,
            "c" => Self::Choice,
            "r" => Self::Retired,
            _ => Self::Unknown,
        }
    }

    /// The word used in tables; `None` where nothing is known.
    #[must_use]
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Bool => Some("yes or no"),
            Self::Int => Some("whole number"),
            Self::Float => Some("number"),
            Self::Text => Some("text"),
            Self::Choice => Some("word or structure"),
            Self::Unknown | Self::Retired => None,
        }
    }

    /// Whether a value cannot be meant: a word where a number is wanted.
    #[must_use]
    pub fn refuses(self, value: &str) -> bool {
        let plain = value.starts_with('$') || value.is_empty();
        match self {
            Self::Int => !plain && value.parse::<i64>().is_err() && value.parse::<u64>().is_err(),
            Self::Float => !plain && value.parse::<f64>().is_err(),
            _ => false,
        }
    }
}

static DATA: LazyLock<Data> = LazyLock::new(|| toml::from_str(TABLE).unwrap_or_default());

static NAMES: LazyLock<Vec<(&'static str, FxHashMap<&'static str, Kind>)>> = LazyLock::new(|| {
    let names = |list: &'static str| {
        let pairs = list.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(name, letter)| (name, Kind::of(letter))).collect()
    };
    LISTS.iter().map(|(id, list)| (*id, names(list))).collect()
});

/// What is known of a flag by its present or a former name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Known> {
    let all = &DATA.flag;
    all.iter()
        .find(|f| f.name == name)
        .or_else(|| all.iter().find(|f| f.renamed_from.iter().any(|n| n == name)))
}

/// All flags of which it is known what they are for.
#[must_use]
pub fn all() -> &'static [Known] {
    &DATA.flag
}

/// All pairs of flags that do not go together.
#[must_use]
pub fn conflicts() -> &'static [Conflict] {
    &DATA.conflict
}

/// All releases whose flags are listed.
#[must_use]
pub fn releases() -> &'static [Release] {
    &DATA.release
}

/// The kind of a flag in a release; `None` where the release does not have it.
#[must_use]
pub fn kind_in(release: &Release, name: &str) -> Option<Kind> {
    let (_, names) = NAMES.iter().find(|(id, _)| *id == release.id)?;
    names.get(name).copied()
}

/// The releases that a profile was made with, as far as they are listed here.
#[must_use]
pub fn of_profile(profile: &Profile) -> Vec<&'static Release> {
    let states = |release: &&Release| {
        let facts = profile.hosts.iter().flat_map(|h| &h.environment);
        facts.into_iter().any(|(key, value)| match release.library.as_str() {
            "jaxlib" => key == "jaxlib_version" && *value == release.version,
            _ => !release.build.is_empty() && value.split_whitespace().any(|word| word == release.build),
        })
    };
    releases().iter().filter(states).collect()
}

/// How a flag stands in the releases that are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A release has it.
    Known(&'static Release, Kind),
    /// A release had it and took it out.
    Retired(&'static Release),
    /// It goes by another name.
    Renamed(&'static Known),
    /// None of the releases asked about has it.
    Missing(&'static Release),
    /// It is in no list, and the release is not known.
    NotKnownHere,
}

impl PartialEq for Release {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
impl Eq for Release {}
impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
impl Eq for Known {}

/// The releases that names are looked up in: those that are known to be in use, and the listed ones of libraries of which it is
/// not known.
#[must_use]
pub fn looked_up(asked: &[&'static Release]) -> Vec<&'static Release> {
    let others = releases().iter().filter(|r| asked.iter().all(|a| a.library != r.library));
    asked.iter().copied().chain(others).collect()
}

/// How a flag stands. `asked` are the releases that are known to be in use.
#[must_use]
pub fn standing(name: &str, asked: &[&'static Release]) -> Standing {
    let listed = looked_up(asked);
    let kinds = || listed.iter().filter_map(|release| Some((*release, kind_in(release, name)?)));
    if let Some((release, kind)) = kinds().find(|(_, kind)| *kind != Kind::Retired) {
        // A former name that still works is known all the same, and its new name worth saying.
        return match find(name).filter(|known| known.name != name) {
            Some(known) => Standing::Renamed(known),
            None => Standing::Known(release, kind),
        };
    }
    if let Some(known) = find(name).filter(|known| known.name != name) {
        return Standing::Renamed(known);
    }
    if let Some((release, _)) = kinds().next() {
        return Standing::Retired(release);
    }
    // Only a library whose flags go by such names can lack one: XLA's own flags are both libraries', libtpu's only its own.
    let library = if is_tpu(name) { "libtpu" } else { "" };
    let both = ["libtpu", "jaxlib"].iter().all(|l| asked.iter().any(|r| r.library == *l));
    match asked.iter().find(|r| r.library == library).or_else(|| asked.first().filter(|_| both)) {
        Some(release) => Standing::Missing(release),
        None => Standing::NotKnownHere,
    }
}

/// True for names that only libtpu uses.
#[must_use]
pub fn is_tpu(name: &str) -> bool {
    ["xla_tpu_", "xla_jf_", "xla_sc_", "megascale_", "tpu_", "barna_core_", "deepsea_"]
        .iter()
        .any(|p| name.starts_with(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let data: Result<Data, _> = toml::from_str(TABLE);
        assert!(data.is_ok(), "{data:?}");
        assert!(all().len() > 30 && releases().len() == LISTS.len());
        for (id, names) in NAMES.iter() {
            assert!(releases().iter().any(|r| r.id == *id), "{id}");
            assert!(names.len() > 300);
        }
        let is_listed = |name: &str| releases().iter().any(|r| kind_in(r, name).is_some());
        for known in all() {
            assert!(is_listed(&known.name) || !known.since.is_empty(), "{} is in no list", known.name);
            for other in &known.together {
                let name = other.split('=').next().unwrap_or_default();
                assert!(is_listed(name), "{other}");
            }
        }
        for conflict in conflicts() {
            assert!(is_listed(&conflict.flag) && is_listed(&conflict.with), "{conflict:?}");
        }
    }

    #[test]
    fn a_name_stands_by_its_release() {
        let release = |id: &str| releases().iter().find(|r| r.id == id).unwrap();
        let (tpu, jaxlib) = (release("libtpu-0.0.52"), release("jaxlib-0.10.2"));
        let fusion = "xla_tpu_enable_async_collective_fusion";
        assert_eq!(standing(fusion, &[tpu]), Standing::Known(tpu, Kind::Bool));
        assert_eq!(
            standing("xla_tpu_collective_fusion_pipeliner_all_gather", &[tpu]),
            Standing::Retired(tpu)
        );
        assert_eq!(standing("xla_tpu_never_heard_of", &[tpu]), Standing::Missing(tpu));
        // Of another release nothing is known: a renamed flag is not missing and a new one not wrong.
        assert_eq!(standing("xla_tpu_never_heard_of", &[]), Standing::NotKnownHere);
        assert_eq!(standing("xla_tpu_never_heard_of", &[jaxlib]), Standing::NotKnownHere);
        assert_eq!(standing(fusion, &[jaxlib]), Standing::Known(tpu, Kind::Bool));
        assert!(matches!(standing("xla_enable_custom_call_region_trace", &[tpu]), Standing::Renamed(_)));
        assert!(Kind::Int.refuses("true") && !Kind::Int.refuses("98304") && !Kind::Int.refuses("$N"));
    }
}

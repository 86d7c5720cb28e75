//! Rules that say what a buffer is for, read from TOML.

use std::fmt;
use std::marker::PhantomData;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor, value::SeqAccessDeserializer};
use toml::Spanned;

use crate::program_memory::Group;
use haloscope_report::Error;

/// The rules that are built in.
pub const DEFAULT: &str = include_str!("default_rules.toml");

/// Something that is known of a buffer apart from its name, group, opcode, shape and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Fact {
    /// It holds the value of an entry parameter: in the parameter's own memory, or in a copy of it.
    #[serde(rename = "parameter")]
    Parameter,
    /// Of a parameter: it goes into a loop's state.
    #[serde(rename = "carried")]
    Carried,
    /// Of a parameter: it goes into a loop's state, and the loop gives it a new value each time round.
    #[serde(rename = "rewritten")]
    Rewritten,
    /// Of a parameter of rank 3 or more that a loop carries or the program returns: the program overwrites a part of it in
    /// place and multiplies matrices with it. Measured from the graph.
    #[serde(rename = "cache")]
    Cache,
    /// Of a parameter: a model parameter has the same extents.
    #[serde(rename = "like a model parameter")]
    LikeModelParameter,
    /// The program computes gradients.
    #[serde(rename = "gradients")]
    Gradients,
    /// The op's name says forward pass of a program that computes gradients.
    #[serde(rename = "forward")]
    Forward,
    /// The op's name says backward pass.
    #[serde(rename = "backward")]
    Backward,
    /// It is no parameter, and an extent is that of the vocabulary, as the embedding's shape gives it.
    #[serde(rename = "vocabulary")]
    Vocabulary,
}

impl Fact {
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// A set of facts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts(u16);

impl Facts {
    /// Adds a fact where it holds.
    pub fn set(&mut self, fact: Fact, holds: bool) {
        if holds {
            self.0 |= fact.bit();
        }
    }

    /// Whether a fact is among them.
    #[must_use]
    pub fn has(self, fact: Fact) -> bool {
        self.0 & fact.bit() != 0
    }
}

/// What rules look at.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The op's or parameter's name; empty where none is known.
    pub op_name: &'a str,
    /// What the allocation is for.
    pub group: Group,
    /// Opcode of the instruction that makes it.
    pub opcode: &'a str,
    /// Element type and extents, such as `bf16[8,128]`.
    pub shape: &'a str,
    /// Element type, such as `bf16`.
    pub dtype: &'a str,
    /// How many extents it has.
    pub rank: usize,
    /// Bytes.
    pub bytes: i64,
    /// Number of the entry parameter whose memory or value it is.
    pub parameter: Option<i64>,
    /// Whether it is a parameter whose memory an output takes over (donation).
    pub is_aliased: bool,
    /// What else is known.
    pub facts: Facts,
}

/// A rule: the bucket of all buffers for which every condition holds.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// The bucket; with `(guess)` behind it where the rule is one.
    pub bucket: String,
    /// Whether it guesses.
    pub is_guess: bool,
    /// Whether it is built in.
    pub is_built_in: bool,
    op_name: Option<String>,
    op_name_prefix: Option<String>,
    op_name_regex: Option<Regex>,
    group: Vec<Group>,
    opcode: Vec<String>,
    shape_regex: Option<Regex>,
    dtype: Vec<String>,
    min_rank: Option<usize>,
    min_bytes: Option<i64>,
    max_bytes: Option<i64>,
    parameter: Option<i64>,
    aliased: Option<bool>,
    fact: Vec<Fact>,
}

impl Rule {
    /// Whether it asks for the shape of a model parameter.
    #[must_use]
    pub fn is_by_shape(&self) -> bool {
        self.fact.contains(&Fact::LikeModelParameter)
    }

    /// Whether every condition holds.
    #[must_use]
    pub fn takes(&self, subject: &Subject<'_>) -> bool {
        let is_one = |words: &[String], word: &str| words.is_empty() || words.iter().any(|w| w == word);
        // Cheap conditions first.
        self.fact.iter().all(|fact| subject.facts.has(*fact))
            && (self.group.is_empty() || self.group.contains(&subject.group))
            && is_one(&self.opcode, subject.opcode)
            && is_one(&self.dtype, subject.dtype)
            && self.min_rank.is_none_or(|rank| subject.rank >= rank)
            && self.min_bytes.is_none_or(|bytes| subject.bytes >= bytes)
            && self.max_bytes.is_none_or(|bytes| subject.bytes <= bytes)
            && self.parameter.is_none_or(|number| subject.parameter == Some(number))
            && self.aliased.is_none_or(|aliased| subject.is_aliased == aliased)
            && self.op_name.as_ref().is_none_or(|name| subject.op_name == name)
            && self.op_name_prefix.as_ref().is_none_or(|prefix| subject.op_name.starts_with(prefix))
            && self.op_name_regex.as_ref().is_none_or(|regex| regex.is_match(subject.op_name))
            && self.shape_regex.as_ref().is_none_or(|regex| regex.is_match(subject.shape))
    }
}

/// Rules in the order in which they are tried.
#[derive(Debug, Clone)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// The built-in rules.
    #[must_use]
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Rules> =
            LazyLock::new(|| Rules(read(DEFAULT, true).map(|(rules, _)| rules).unwrap_or_default()));
        &BUILT_IN
    }

    /// Rules of a file, with the built-in ones behind them unless it says `replace = true`. An empty text gives the built-in
    /// ones.
    ///
    /// # Errors
    /// [`Error::Usage`] with the line, what was found and what was expected.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (mut rules, replaces) = read(text, false).map_err(Error::Usage)?;
        if !replaces {
            rules.extend(Self::built_in().0.iter().cloned());
        }
        Ok(Self(rules))
    }

    /// The rules.
    #[must_use]
    pub fn all(&self) -> &[Rule] {
        &self.0
    }

    /// The first rule that takes a buffer.
    #[must_use]
    pub fn find(&self, subject: &Subject<'_>) -> Option<usize> {
        self.0.iter().position(|rule| rule.takes(subject))
    }
}

/// The file as TOML has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    replace: bool,
    #[serde(default, rename = "rule")]
    rules: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    bucket: Spanned<String>,
    #[serde(default)]
    guess: bool,
    op_name: Option<String>,
    op_name_prefix: Option<String>,
    op_name_regex: Option<Spanned<String>>,
    #[serde(default)]
    group: Words<Group>,
    #[serde(default)]
    opcode: Words<String>,
    shape_regex: Option<Spanned<String>>,
    #[serde(default)]
    dtype: Words<String>,
    min_rank: Option<usize>,
    min_bytes: Option<i64>,
    max_bytes: Option<i64>,
    parameter: Option<i64>,
    aliased: Option<bool>,
    #[serde(default)]
    fact: Words<Fact>,
}

fn read(text: &str, is_built_in: bool) -> Result<(Vec<Rule>, bool), String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        format!("rules: line {}: {}", line_of(text, at), error.message().replace('\n', "; "))
    })?;
    let regex = |written: Option<Spanned<String>>| {
        let compile = |written: Spanned<String>| {
            let line = line_of(text, written.span().start);
            Regex::new(written.get_ref()).map_err(|error| {
                let why = error.to_string();
                let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                format!(
                    "rules: line {line}: expected a regular expression, found `{}`: {why}",
                    written.get_ref()
                )
            })
        };
        written.map(compile).transpose()
    };
    let mut rules = Vec::with_capacity(file.rules.len());
    for rule in file.rules {
        if rule.bucket.get_ref().trim().is_empty() {
            let line = line_of(text, rule.bucket.span().start);
            return Err(format!("rules: line {line}: expected the name of a bucket, found an empty text"));
        }
        let bucket = rule.bucket.into_inner();
        rules.push(Rule {
            name: rule.name,
            bucket: if rule.guess && !bucket.contains("guess") {
                format!("{bucket} (guess)")
            } else {
                bucket
            },
            is_guess: rule.guess,
            is_built_in,
            op_name: rule.op_name,
            op_name_prefix: rule.op_name_prefix,
            op_name_regex: regex(rule.op_name_regex)?,
            group: rule.group.0,
            opcode: rule.opcode.0,
            shape_regex: regex(rule.shape_regex)?,
            dtype: rule.dtype.0,
            min_rank: rule.min_rank,
            min_bytes: rule.min_bytes,
            max_bytes: rule.max_bytes,
            parameter: rule.parameter,
            aliased: rule.aliased,
            fact: rule.fact.0,
        });
    }
    Ok((rules, file.replace))
}

/// The line of a byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// One word or a list of them.
struct Words<T>(Vec<T>);

impl<T> Default for Words<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Words<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
            type Value = Words<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Self::Value, E> {
                T::deserialize(serde::de::value::StrDeserializer::new(word)).map(|word| Words(vec![word]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Words)
            }
        }
        deserializer.deserialize_any(OneOrMany(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const ALL: [Group; 5] =
            [Group::Parameter, Group::Output, Group::ThreadLocal, Group::Constant, Group::Temporary];
        let word = String::deserialize(deserializer)?;
        ALL.into_iter().find(|group| group.name() == word).ok_or_else(|| {
            let names = ALL.map(Group::name).join(", ");
            serde::de::Error::custom(format!("unknown group `{word}`, expected one of {names}"))
        })
    }
}

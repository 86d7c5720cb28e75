//! What is looked for, from the words of a query.

use regex::bytes::{Regex, RegexBuilder};

use haloscope_report::Error;
use haloscope_report::scope::parse_time_ps;

/// The most hits that one answer lists.
pub const MOST_HITS: usize = 10_000;
/// Hits that are listed unless the query says how many.
const HITS: usize = 200;
/// The longest text that is looked for, in bytes.
const LONGEST: usize = 1000;
/// Memory that a compiled expression may take, bytes.
const SIZE: usize = 1 << 20;

/// What is looked for. All that is given must hold.
#[derive(Debug, Clone)]
pub struct Search {
    /// In the label, in the value of the stat that is asked for, or, where no label and no stat is asked for or has it, in the long
    /// name.
    pub(super) name: Option<Regex>,
    /// Whether only labels count.
    pub(super) is_exact: bool,
    pub(super) stat: Option<StatAsked>,
    pub(super) min_ps: i64,
    pub(super) max_ps: i64,
    pub(super) from_ps: i64,
    pub(super) to_ps: i64,
    pub(super) limit: usize,
    /// Columns of pixels that the window is drawn on: of the hits of a line that begin in one, the first is listed.
    pub(super) columns: Option<i64>,
    pub(super) turn: Turn,
}

/// Where an event stands in time order; ties go by line, then by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Start on the run's clock, picoseconds.
    pub start_ps: i64,
    /// The line.
    pub track: u32,
    /// The row in the line.
    pub event: u32,
}

/// Which hits are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    FromStart,
    After(Place),
    Before(Place),
}

/// A stat that an event, or its metadata, must have.
#[derive(Debug, Clone)]
pub(super) struct StatAsked {
    /// The whole text: a name may contain the signs that else separate name and test.
    pub(super) whole: String,
    pub(super) parts: Option<(String, Test)>,
}

/// What must hold of a stat's value.
#[derive(Debug, Clone)]
pub(super) enum Test {
    Any,
    Contains(Regex),
    Above(f64),
    Below(f64),
}

impl Search {
    /// A search from the words of a query: each is the text of one parameter, `None` where not given. `q` text or, with
    /// `regex`, an expression, or with `exact` the whole label as it is written; `stat`; `min`, `max` durations; `start`, `end` picoseconds; `limit`; `columns` of pixels, of each
    /// of which a line's first hit is listed; `after` or `before`.
    ///
    /// # Errors
    /// [`Error::Usage`] for what cannot be understood, with the form that was expected.
    pub fn from_words<'a>(word: impl Fn(&str) -> Option<&'a str>) -> Result<Self, Error> {
        let word = |key| word(key).filter(|text| !text.is_empty());
        let time = |key, other| word(key).map_or(Ok(other), |text| duration(key, text));
        let number = |key, other| word(key).map_or(Ok(other), |text| whole_number(key, text));
        let is_regex = matches!(word("regex"), Some("1" | "true" | "yes"));
        let is_exact = matches!(word("exact"), Some("1" | "true" | "yes"));
        if is_exact && is_regex {
            return Err(Error::Usage(
                "`exact` and `regex` are both given; a name is one or the other".into(),
            ));
        }
        let named = |text| match (is_exact, is_regex) {
            (true, _) => build("q", &format!("^{}$", regex::escape(text)), false),
            (_, true) => expression(text),
            _ => substring("q", text),
        };
        let turn = match (word("after"), word("before")) {
            (None, None) => Turn::FromStart,
            (Some(text), None) => Turn::After(Place::parse("after", text)?),
            (None, Some(text)) => Turn::Before(Place::parse("before", text)?),
            (Some(_), Some(_)) => {
                return Err(Error::Usage(
                    "`after` and `before` are both given; a search goes one way".into(),
                ));
            }
        };
        let search = Self {
            name: word("q").map(named).transpose()?,
            is_exact,
            stat: word("stat").map(StatAsked::parse).transpose()?,
            min_ps: time("min", i64::MIN)?,
            max_ps: time("max", i64::MAX)?,
            from_ps: number("start", i64::MIN)?,
            to_ps: number("end", i64::MAX)?,
            columns: word("columns").map(|text| whole_number("columns", text)).transpose()?,
            limit: usize::try_from(number("limit", HITS as i64)?).unwrap_or(0).min(MOST_HITS),
            turn,
        };
        if search.columns.is_some_and(|columns| columns < 1)
            || search.columns.is_some() && (search.from_ps == i64::MIN || search.to_ps == i64::MAX)
        {
            return Err(Error::Usage(
                "`columns`: expected a number of 1 or more, and a window by `start` and `end`".into(),
            ));
        }
        if search.from_ps >= search.to_ps {
            let (from, to) = (search.from_ps, search.to_ps);
            return Err(Error::Usage(format!(
                "expected a window that ends after it starts, found {from}..{to} ps"
            )));
        }
        Ok(search)
    }
}

impl Search {
    /// The column of pixels that a time is drawn in, where columns were asked for.
    pub(super) fn column_of(&self, time_ps: i64) -> Option<i64> {
        let columns = i128::from(self.columns?);
        let (from, to) = (i128::from(self.from_ps), i128::from(self.to_ps));
        i64::try_from((i128::from(time_ps) - from) * columns / (to - from).max(1)).ok()
    }
}

impl Place {
    /// Parses `START,TRACK,EVENT`.
    fn parse(key: &str, text: &str) -> Result<Self, Error> {
        let bad = || Error::Usage(format!("`{key}`: expected START_PS,TRACK,EVENT of a hit, found `{text}`"));
        let mut parts = text.split(',').map(str::trim);
        let mut next = || parts.next().ok_or_else(bad);
        let place = Self {
            start_ps: next()?.parse().map_err(|_| bad())?,
            track: next()?.parse().map_err(|_| bad())?,
            event: next()?.parse().map_err(|_| bad())?,
        };
        if parts.next().is_some() { Err(bad()) } else { Ok(place) }
    }
}

impl StatAsked {
    fn parse(text: &str) -> Result<Self, Error> {
        let Some(at) = text.find([':', '>', '<']) else {
            return Ok(Self { whole: text.to_owned(), parts: Some((text.to_owned(), Test::Any)) });
        };
        let (name, rest) = (text[..at].trim(), text[at + 1..].trim());
        let bad = || {
            Error::Usage(format!(
                "`stat`: expected a name (flops), a text in it (source:model.py) or a bound (flops>1e9), found `{text}`"
            ))
        };
        let number = || rest.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(bad);
        let test = match &text[at..=at] {
            _ if name.is_empty() => return Err(bad()),
            ">" => Test::Above(number()?),
            "<" => Test::Below(number()?),
            _ if rest.is_empty() => Test::Any,
            _ => Test::Contains(substring("stat", rest)?),
        };
        Ok(Self { whole: text.to_owned(), parts: Some((name.to_owned(), test)) })
    }
}

fn duration(key: &str, text: &str) -> Result<i64, Error> {
    let bad = || Error::Usage(format!("`{key}`: expected a duration such as 1.5us or 20ms, found `{text}`"));
    parse_time_ps(text).ok_or_else(bad)
}

fn whole_number(key: &str, text: &str) -> Result<i64, Error> {
    text.parse().map_err(|_| Error::Usage(format!("`{key}`: expected a whole number, found `{text}`")))
}

/// The text wherever it stands, in upper or lower case.
fn substring(key: &str, text: &str) -> Result<Regex, Error> {
    build(key, &regex::escape(text), true)
}

/// An expression, in which case counts unless it says `(?i)`.
fn expression(text: &str) -> Result<Regex, Error> {
    build("q", text, false)
}

fn build(key: &str, pattern: &str, any_case: bool) -> Result<Regex, Error> {
    if pattern.len() > 2 * LONGEST {
        return Err(Error::Usage(format!(
            "`{key}`: expected at most {LONGEST} bytes of text, found {}",
            pattern.len()
        )));
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(any_case).size_limit(SIZE).dfa_size_limit(SIZE);
    builder.build().map_err(|error| {
        let why = match &error {
            // The lines before show where; the last one says what.
            regex::Error::Syntax(text) => {
                text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
            }
            regex::Error::CompiledTooBig(_) => "it is too large once repetitions are counted out".to_owned(),
            other => other.to_string(),
        };
        Error::Usage(format!("`{key}`: `{pattern}` is not a regular expression: {why}"))
    })
}

//! How much of a draft is said. The limit holds for all that is sent: the structured answer and its text together.

use haloscope_time::analysis::LIMIT;
use serde_json::{Value, json};

use crate::answer::{self, Answer, How, Shown};
use crate::draft::{Draft, Section, SectionKind};
use crate::{Arguments, Refusal};

/// Tokens of an answer unless others are asked for.
const DEFAULT: usize = 2000;
/// The smallest budget: a headline, one item and the cursor to the next fit in it.
const LEAST: usize = 200;
/// The largest budget: more than any model reads.
const MOST: usize = 1_000_000;
/// Rows of a table that are shown unprompted while other sections still want room.
const ROWS: usize = 10;

/// Tokens of a text of so many bytes: 3.5 bytes each. That is an estimate; no two models count alike.
#[must_use]
pub fn tokens(bytes: usize) -> usize {
    (bytes * 2).div_ceil(7)
}

/// What an answer may cost, and which part of it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// Tokens of the whole answer, at most.
    pub max_tokens: usize,
    /// Rows of a table, at most.
    pub rows: Option<usize>,
    /// Where to go on: a section and the place in it.
    pub cursor: Option<(String, usize)>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { max_tokens: DEFAULT, rows: None, cursor: None }
    }
}

impl Budget {
    /// The budget that a call states, in the arguments `max_tokens`, `limit` and `cursor`.
    ///
    /// # Errors
    /// For a cursor that is none, and numbers that are too small.
    pub fn from_arguments(arguments: &Arguments) -> Result<Self, Refusal> {
        let cursor = arguments.text("cursor")?.map(|text| parse(&text)).transpose()?;
        let rows = arguments.count(LIMIT.id, 1)?;
        let max_tokens = arguments.count("max_tokens", LEAST)?.unwrap_or(DEFAULT).min(MOST);
        Ok(Self { max_tokens, rows, cursor })
    }

    /// The properties that `Budget::of` reads, for input schemas.
    #[must_use]
    pub fn properties() -> [(String, Value); 3] {
        [
            (LIMIT.id.into(), json!({"type": "integer", "minimum": 1, "description": "rows per table"})),
            ("max_tokens".into(), json!({"type": "integer", "minimum": LEAST, "default": DEFAULT})),
            ("cursor".into(), json!({"type": "string", "description": "from left_out"})),
        ]
    }

    fn bytes(&self) -> usize {
        self.max_tokens * 7 / 2
    }

    /// The answer: as much of the draft as the budget lets through.
    ///
    /// # Errors
    /// For a cursor that leads nowhere.
    pub fn fit(&self, draft: &Draft) -> Result<Answer, Refusal> {
        let sections = draft.sections();
        let mut plan = Plan::new(draft, &sections, self)?;
        plan.fill();
        Ok(plan.answer())
    }
}

/// `SECTION@PLACE`.
fn parse(text: &str) -> Result<(String, usize), Refusal> {
    let parts = text.rsplit_once('@').and_then(|(name, at)| Some((name.to_owned(), at.parse().ok()?)));
    parts.ok_or_else(|| {
        Refusal::new(
            format!(
                "`cursor`: expected one such as `findings@3`, found `{}`",
                crate::refusal::shorten(text, 60)
            ),
            "take a cursor from `left_out` of an answer to the same question, or leave it out",
        )
    })
}

/// What is shown of each section.
struct Plan<'a> {
    draft: &'a Draft,
    sections: &'a [Section<'a>],
    shown: Vec<Shown>,
    limit: usize,
    /// The most that a table shows, where a call says so.
    rows: Option<usize>,
    /// Whether only one section is asked for.
    one: Option<usize>,
    /// Bytes of a cell or a field, at most.
    longest: usize,
    /// Sections of which it is said that they were left out; of the others only how many they are.
    named: usize,
    /// Whether there is room to say what to call next.
    next: bool,
}

impl<'a> Plan<'a> {
    fn new(draft: &'a Draft, sections: &'a [Section<'a>], budget: &Budget) -> Result<Self, Refusal> {
        let mut shown: Vec<Shown> = sections.iter().map(|_| Shown::default()).collect();
        let mut one = None;
        if let Some((name, from)) = &budget.cursor {
            let Some(at) = sections.iter().position(|s| s.name == *name && *from < s.len) else {
                let exist: Vec<String> = sections.iter().map(|s| format!("{}@0", s.name)).collect();
                let found = format!("{name}@{from}");
                return Err(Refusal::unknown("cursor", &found, &exist, "take one from `left_out`"));
            };
            shown[at].from = *from;
            one = Some(at);
        }
        let limit = budget.bytes();
        // A fortieth of the budget: long names are whole where there is room for them.
        let longest = (limit / 40).max(60);
        let named = sections.len();
        Ok(Self { draft, sections, shown, limit, rows: budget.rows, one, longest, named, next: true })
    }

    fn answer(&self) -> Answer {
        let how = How { longest: self.longest, named: self.named, one: self.one.is_some(), next: self.next };
        answer::build(self.draft, self.sections, &self.shown, how)
    }

    fn size(&self) -> usize {
        self.answer().bytes()
    }

    /// How many items of a section may be shown.
    fn most(&self, at: usize, unprompted: bool) -> usize {
        let section = &self.sections[at];
        let rest = section.len - self.shown[at].from;
        let SectionKind::Table(table) = section.part else { return rest };
        let wanted = self.one == Some(at);
        let on_demand = self.draft.tables[table].on_demand && !wanted;
        let most = if on_demand { 0 } else { self.rows.unwrap_or(rest) };
        if unprompted && !wanted { rest.min(most).min(ROWS) } else { rest.min(most) }
    }

    /// Chooses what is shown.
    fn fill(&mut self) {
        while self.named > 1 && self.size() * 2 > self.limit {
            self.named -= 1;
        }
        self.next = self.size() * 2 <= self.limit;
        match self.one {
            Some(at) => self.add(at, self.limit, false),
            None => {
                // Each kind gets its share first, so that no long list of one hides all the others; then what is left over
                // goes to those that want more, findings first.
                for at in 0..self.sections.len() {
                    let used = self.size();
                    let room = self.limit.saturating_sub(used) as f64;
                    let share = match self.sections[at].part {
                        SectionKind::Text(_) => 0.9,
                        SectionKind::Findings => 0.6,
                        SectionKind::Values | SectionKind::Table(_) | SectionKind::Notes => 0.4,
                    };
                    self.add(at, used + (room * share) as usize, true);
                }
                // Of numbers that stand for themselves the first are those that matter: tables come before the rest of them.
                let mut order: Vec<usize> = (0..self.sections.len()).collect();
                order.sort_by_key(|&at| {
                    matches!(self.sections[at].part, SectionKind::Values | SectionKind::Notes)
                });
                for unprompted in [true, false] {
                    order.iter().for_each(|&at| self.add(at, self.limit, unprompted));
                }
            }
        }
        self.shorten();
    }

    /// Shows more of a section while the whole stays within so many bytes.
    fn add(&mut self, at: usize, bytes: usize, unprompted: bool) {
        let (mut low, mut high) = (self.shown[at].count, self.most(at, unprompted).max(self.shown[at].count));
        // Nothing beyond this can fit, whatever the items are.
        high = high.min(low + bytes / 4);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            self.shown[at].count = middle;
            if self.size() <= bytes.min(self.limit) { low = middle } else { high = middle - 1 }
        }
        self.shown[at].count = low;
    }

    /// Where not one item fits, shows the first of what was asked for with its texts cut, so that a cursor always moves on.
    fn shorten(&mut self) {
        if self.sections.is_empty() || self.shown.iter().any(|shown| shown.count > 0) {
            return;
        }
        let at = self.one.unwrap_or(0);
        if self.most(at, true) == 0 {
            return;
        }
        self.shown[at].count = 1;
        while self.size() > self.limit {
            if self.longest > 8 {
                self.longest = self.longest * 2 / 3;
            } else {
                self.shown[at].count = 0;
                return;
            }
        }
    }
}

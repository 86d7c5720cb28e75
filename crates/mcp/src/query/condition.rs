//! Conditions on a row: `self_ps > 1ms and category = "copy"`.
//!
//! ```text
//! condition  = all { "or" all }
//! all        = one { "and" one }
//! one        = "not" one | "(" condition ")" | test
//! test       = column ("=" | "!=" | "<" | "<=" | ">" | ">=") literal
//!            | column ("~" | "!~") text                 holds this text, small and capital letters alike
//!            | column ["not"] "in" "(" literal { "," literal } ")"
//!            | column "is" ["not"] "null"
//!            | column                                    a column of yes and no
//! ```
//!
//! A number without a unit is in the column's unit. What is not known is neither equal nor unequal to anything: a row where the
//! condition rests on it is left out, and counted.

use haloscope_report::{Cell, Column, Kind, Table};

use super::Wrong;
use super::literal::{Quantity, quantity};
use super::token::{Token, tokens};

/// Brackets and `not`s within each other; deeper ones are refused.
const DEEPEST: usize = 32;

/// A condition on a row of one table.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    Or(Vec<Condition>),
    And(Vec<Condition>),
    Not(Box<Condition>),
    Compare { column: usize, sign: &'static str, to: Literal, unit_column: Option<usize> },
    Known { column: usize, known: bool },
    Flag { column: usize },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Number(Quantity),
    Text(String),
    Flag(bool),
}

impl Condition {
    /// Reads a condition on the rows of `table`.
    pub(super) fn read(text: &str, table: &Table) -> Result<Self, Wrong> {
        let mut reader = Reader { table, tokens: tokens(text)?, at: 0, depth: 0 };
        let condition = reader.or()?;
        match reader.tokens.get(reader.at) {
            None => Ok(condition),
            Some(token) => {
                Err(format!("expected `and`, `or` or the end, found {} in `{text}`", token_text(Some(token))))
            }
        }
    }

    /// Whether it holds for a row; `None` where that rests on what is not known.
    pub(super) fn holds(&self, row: &[Cell]) -> Option<bool> {
        match self {
            Self::Or(parts) => any(parts.iter().map(|part| part.holds(row))),
            Self::And(parts) => any(parts.iter().map(|part| part.holds(row).map(|b| !b))).map(|b| !b),
            Self::Not(part) => part.holds(row).map(|b| !b),
            Self::Known { column, known } => Some((row.get(*column)? != &Cell::Unknown) == *known),
            Self::Flag { column } => match row.get(*column)? {
                Cell::Flag(flag) => Some(*flag),
                _ => None,
            },
            Self::Compare { column, sign, to, unit_column } => {
                let unit = unit_column.and_then(|at| row.get(at)).and_then(Cell::as_text);
                compare(row.get(*column)?, sign, to, unit)
            }
        }
    }
}

/// True if one is, false if all are, else not known.
fn any(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut answer = Some(false);
    for part in parts {
        match part {
            Some(true) => return Some(true),
            Some(false) => {}
            None => answer = None,
        }
    }
    answer
}

/// `unit` is that of the row's numbers where rows have units of their own.
fn compare(cell: &Cell, sign: &str, to: &Literal, unit: Option<&str>) -> Option<bool> {
    let order = match (cell, to) {
        (Cell::Text(text), Literal::Text(word)) => match sign {
            "~" => return Some(text.to_lowercase().contains(&word.to_lowercase())),
            "!~" => return Some(!text.to_lowercase().contains(&word.to_lowercase())),
            _ => text.as_str().cmp(word.as_str()),
        },
        (Cell::Flag(flag), Literal::Flag(to)) => flag.cmp(to),
        (Cell::Int(_) | Cell::Float(_), Literal::Number(number)) => {
            let same = unit.is_none_or(|unit| number.unit.is_empty() || symbol_of(unit) == number.unit);
            cell.number().filter(|_| same)?.partial_cmp(&number.value)?
        }
        _ => return None,
    };
    Some(match sign {
        "=" | "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    })
}

/// The unit of a row in words as the symbol of a column's unit.
fn symbol_of(unit: &str) -> &str {
    if matches!(unit, "share" | "count" | "ratio") { "1" } else { unit }
}

struct Reader<'t> {
    table: &'t Table,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn or(&mut self) -> Result<Condition, Wrong> {
        self.chain("or", Self::and, Condition::Or)
    }

    fn and(&mut self) -> Result<Condition, Wrong> {
        self.chain("and", Self::one, Condition::And)
    }

    fn chain(
        &mut self,
        word: &str,
        part: fn(&mut Self) -> Result<Condition, Wrong>,
        whole: fn(Vec<Condition>) -> Condition,
    ) -> Result<Condition, Wrong> {
        let mut parts = vec![part(self)?];
        while self.take_word(word) {
            parts.push(part(self)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { whole(parts) })
    }

    fn one(&mut self) -> Result<Condition, Wrong> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("expected brackets at most {DEEPEST} deep"));
        }
        let condition = if self.take_word("not") {
            Condition::Not(Box::new(self.one()?))
        } else if self.take_sign("(") {
            let inside = self.or()?;
            self.expect(")")?;
            inside
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn test(&mut self) -> Result<Condition, Wrong> {
        let name = match self.next() {
            Some(Token::Name(name)) => name,
            other => {
                return Err(format!(
                    "expected a column, found {}; columns: {}",
                    token_text(other.as_ref()),
                    self.columns()
                ));
            }
        };
        let column = self.table.column(&name).ok_or_else(|| {
            format!("table `{}` has no column `{name}`; columns: {}", self.table.id, self.columns())
        })?;
        if self.take_word("is") {
            let known = self.take_word("not");
            if !self.take_word("null") {
                return Err(format!("expected `is null` or `is not null` after `{name}`"));
            }
            return Ok(Condition::Known { column, known });
        }
        let refused = self.take_word("not");
        if self.take_word("in") {
            let test = self.among(column)?;
            return Ok(if refused { Condition::Not(Box::new(test)) } else { test });
        }
        if refused {
            return Err(format!("expected `in` after `{name} not`"));
        }
        let definition = self.table.columns[column];
        let Some(Token::Sign(sign @ ("=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~"))) =
            self.tokens.get(self.at).cloned()
        else {
            if definition.kind == Kind::Flag {
                return Ok(Condition::Flag { column });
            }
            let found = token_text(self.tokens.get(self.at));
            return Err(format!(
                "expected a comparison after `{name}` (= != < <= > >= ~ !~ in, is null), found {found}"
            ));
        };
        self.at += 1;
        self.literal(column, sign)
    }

    fn among(&mut self, column: usize) -> Result<Condition, Wrong> {
        self.expect("(")?;
        let mut tests = vec![self.literal(column, "=")?];
        while self.take_sign(",") {
            tests.push(self.literal(column, "=")?);
        }
        self.expect(")")?;
        Ok(Condition::Or(tests))
    }

    /// What a column is compared with; it must be of the column's kind and unit.
    fn literal(&mut self, column: usize, sign: &'static str) -> Result<Condition, Wrong> {
        let definition = self.table.columns[column];
        let token = self.next();
        let to = match (&token, definition.kind) {
            (Some(Token::Number(value, unit)), kind) if is_number(kind) => {
                let number = quantity(*value, unit)?;
                let of_column = definition.unit.symbol();
                if kind != Kind::Quantity && !number.unit.is_empty() && number.unit != of_column {
                    let of_column = if of_column == "1" { "a number without unit" } else { of_column };
                    return Err(format!("`{}` is {of_column}, found `{value}{unit}`", definition.id));
                }
                Literal::Number(number)
            }
            (Some(Token::Text(text)), Kind::Text | Kind::Prose | Kind::Quantity) => {
                Literal::Text(text.clone())
            }
            (Some(Token::Name(word)), Kind::Flag) if matches!(word.as_str(), "true" | "yes") => {
                Literal::Flag(true)
            }
            (Some(Token::Name(word)), Kind::Flag) if matches!(word.as_str(), "false" | "no") => {
                Literal::Flag(false)
            }
            _ => {
                return Err(format!(
                    "expected {} after `{} {sign}`, found {}",
                    wanted(&definition),
                    definition.id,
                    token_text(token.as_ref())
                ));
            }
        };
        if matches!(sign, "~" | "!~") && !matches!(to, Literal::Text(_)) {
            return Err(format!(
                "`~` asks whether a text contains another; `{}` is not a text",
                definition.id
            ));
        }
        let unit_column = (definition.kind == Kind::Quantity).then(|| self.table.column("unit")).flatten();
        Ok(Condition::Compare { column, sign, to, unit_column })
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found =
            matches!(self.tokens.get(self.at), Some(Token::Name(name)) if name.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Wrong> {
        let found = token_text(self.tokens.get(self.at));
        if self.take_sign(sign) { Ok(()) } else { Err(format!("expected `{sign}`, found {found}")) }
    }

    fn columns(&self) -> String {
        let ids: Vec<&str> = self.table.columns.iter().map(|column| column.id).collect();
        ids.join(", ")
    }
}

fn is_number(kind: Kind) -> bool {
    !matches!(kind, Kind::Text | Kind::Prose | Kind::Flag)
}

fn wanted(column: &Column) -> String {
    match column.kind {
        Kind::Text | Kind::Prose => "a text in quotes".to_owned(),
        Kind::Flag => "`true` or `false`".to_owned(),
        _ if matches!(column.unit.symbol(), "" | "1") => "a number".to_owned(),
        _ => format!("a number, in {} if it has no unit", column.unit.symbol()),
    }
}

fn token_text(token: Option<&Token>) -> String {
    match token {
        None => "the end".to_owned(),
        Some(Token::Name(word)) => format!("`{word}`"),
        Some(Token::Number(value, unit)) => format!("`{value}{unit}`"),
        Some(Token::Text(text)) => format!("\"{text}\""),
        Some(Token::Sign(sign)) => format!("`{sign}`"),
    }
}

#[cfg(test)]
#[path = "condition_tests.rs"]
mod tests;

//! Answers in the shape that agents know from servers for XProf: an object with lists, cut to a budget.

use std::fmt::Write;

use haloscope_report::clean;
use serde_json::{Value, json};

use crate::answer::cleaned;
use crate::refusal::shorten;
use crate::{Answer, Budget, Object, Refusal};

/// What stands around an answer as it is sent, and what says which parts were left out, in bytes.
const AROUND: usize = 160;
/// Of a text in a list, at most this many bytes, and at most this part of the budget.
const LONGEST: usize = 240;
const PART: usize = 24;
/// Items of each list that come before more of any.
const FIRST: usize = 5;

/// An answer before it is cut.
#[derive(Debug, Default)]
pub(super) struct Shaped {
    /// Always said.
    head: Vec<(&'static str, Value)>,
    /// Said where there is room.
    extra: Vec<(&'static str, Value)>,
    lists: Vec<List>,
}

#[derive(Debug)]
struct List {
    name: &'static str,
    items: Vec<Value>,
    /// The names of the items, where they form an object.
    keys: Option<Vec<String>>,
}

impl Shaped {
    pub(super) fn of_run(run: &str) -> Self {
        Self::default().with("run", json!(run))
    }

    /// Says something whatever the budget is: it is short.
    pub(super) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.head.push((name, value));
        self
    }

    /// Says something where there is room for it.
    pub(super) fn and(mut self, name: &'static str, value: Value) -> Self {
        self.extra.push((name, value));
        self
    }

    /// A list, the most important item first.
    pub(super) fn list(mut self, name: &'static str, items: Vec<Value>) -> Self {
        self.lists.push(List { name, items, keys: None });
        self
    }

    /// An object of things by name.
    pub(super) fn map(mut self, name: &'static str, items: Vec<(String, Value)>) -> Self {
        let (keys, items) = items.into_iter().unzip();
        self.lists.push(List { name, items, keys: Some(keys) });
        self
    }

    /// As much as the budget lets through; `left_out` names the rest and the cursors under which it is had.
    pub(super) fn fit(mut self, budget: &Budget) -> Result<Answer, Refusal> {
        let limit = budget.max_tokens * 7 / 2;
        let longest = LONGEST.min(limit / PART);
        self.head.iter_mut().chain(&mut self.extra).for_each(|(_, value)| *value = cleaned(value));
        for list in &mut self.lists {
            for item in &mut list.items {
                *item = cleaned(item);
                tidy(item, longest);
            }
            list.keys.iter_mut().flatten().for_each(|key| *key = clean(key).into_owned());
        }
        let (from, only) = self.begin(budget)?;
        let cost = |(name, value): &(&str, Value)| 2 * (name.len() + value.to_string().len()) + 12;
        let mut left = limit.saturating_sub(AROUND + self.head.iter().map(cost).sum::<usize>());
        left = left.saturating_sub(self.lists.iter().map(|list| 84 + 5 * list.name.len()).sum());
        // What explains takes at most a third of the room where there are lists.
        let mut explained = if self.lists.is_empty() { left } else { left / 3 };
        self.extra.retain(|extra| {
            let fits = only.is_none() && cost(extra) <= explained;
            explained -= if fits { cost(extra) } else { 0 };
            left -= if fits { cost(extra) } else { 0 };
            fits
        });
        let mut counts = vec![0; self.lists.len()];
        for most in [FIRST, usize::MAX] {
            for (at, list) in self.lists.iter().enumerate() {
                if only.is_some_and(|only| only != at) {
                    continue;
                }
                let most = most.min(budget.rows.unwrap_or(usize::MAX)).min(list.items.len() - from[at]);
                while counts[at] < most {
                    let price = list.price(from[at] + counts[at], counts[at] == 0);
                    if price > left {
                        break;
                    }
                    left -= price;
                    counts[at] += 1;
                }
            }
        }
        // In the smallest budgets there is no room to name all that was left out: what is named comes first.
        let mut named = self.lists.len();
        loop {
            let answer = self.build(&from, &counts, only, named);
            if named == 0 || answer.bytes() <= limit {
                return Ok(answer);
            }
            named -= 1;
        }
    }

    /// Where each list begins, and the only one that is asked for.
    fn begin(&self, budget: &Budget) -> Result<(Vec<usize>, Option<usize>), Refusal> {
        let mut from = vec![0; self.lists.len()];
        let Some((name, place)) = &budget.cursor else { return Ok((from, None)) };
        let found = self.lists.iter().position(|list| list.name == name && *place < list.items.len());
        let Some(at) = found else {
            let exist: Vec<String> = self.lists.iter().map(|list| format!("{}@0", list.name)).collect();
            return Err(Refusal::unknown(
                "cursor",
                &format!("{name}@{place}"),
                &exist,
                "take one from `left_out`",
            ));
        };
        from[at] = *place;
        Ok((from, Some(at)))
    }

    fn build(&self, from: &[usize], counts: &[usize], only: Option<usize>, named: usize) -> Answer {
        let mut out = Object::new();
        let mut text = String::new();
        for (name, value) in self.head.iter().chain(&self.extra) {
            let _ = writeln!(text, "{name}: {}", plain(value));
            out.insert((*name).to_owned(), value.clone());
        }
        let mut left_out = Vec::new();
        for (at, list) in self.lists.iter().enumerate() {
            let end = from[at] + counts[at];
            out.insert(list.name.to_owned(), list.shown(from[at], end, &mut text));
            let rest = end < list.items.len() && only.is_none_or(|only| only == at);
            if rest && left_out.len() < named {
                let cursor = format!("{}@{end}", list.name);
                let _ =
                    writeln!(text, "left out: {} of {}, cursor {cursor}", list.items.len() - end, list.name);
                left_out.push(json!({"what": list.name, "of": list.items.len(), "cursor": cursor}));
            }
        }
        if !left_out.is_empty() {
            out.insert("left_out".to_owned(), json!(left_out));
        }
        Answer { structured: Value::Object(out), text: text.trim_end().to_owned() }
    }
}

impl List {
    /// Bytes of an item in the structured answer and in the text; of the first one, with its header.
    fn price(&self, at: usize, first: bool) -> usize {
        let key = self.keys.as_ref().and_then(|keys| keys.get(at)).map_or(0, |key| 2 * key.len() + 8);
        let header = if first { header(&self.items[at]).len() + self.name.len() + 8 } else { 0 };
        // Quotes and line ends of the text are escaped on the way.
        self.items[at].to_string().len() + row(&self.items[at]).len() * 11 / 10 + key + header + 6
    }

    fn shown(&self, from: usize, end: usize, text: &mut String) -> Value {
        let items = &self.items[from..end];
        if let Some(first) = items.first() {
            let _ = writeln!(text, "{}: {}", self.name, header(first));
        }
        let Some(keys) = &self.keys else {
            for item in items {
                let _ = writeln!(text, "{}", row(item));
            }
            return json!(items);
        };
        let pairs = keys[from..end].iter().zip(items);
        Value::Object(
            pairs
                .map(|(key, item)| {
                    let _ = writeln!(text, "{key}: {}", row(item));
                    (key.clone(), item.clone())
                })
                .collect(),
        )
    }
}

/// The names of an item's fields, which stand once above its rows.
fn header(item: &Value) -> String {
    item.as_object()
        .map(|fields| fields.keys().map(String::as_str).collect::<Vec<_>>().join(" | "))
        .unwrap_or_default()
}

fn row(item: &Value) -> String {
    match item {
        Value::Object(fields) => {
            let cells = fields.values().map(|field| plain(field).replace('|', "\\|"));
            cells.collect::<Vec<_>>().join(" | ")
        }
        other => plain(other),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "unknown".to_owned(),
        // Without quotes, which double on the way.
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| format!("{name} {}", plain(field)))
            .collect::<Vec<_>>()
            .join(", "),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Cuts long texts and rounds numbers to six digits.
fn tidy(value: &mut Value, longest: usize) {
    match value {
        Value::String(text) if text.len() > longest => *text = shorten(text, longest),
        Value::Number(number) if number.is_f64() => *value = rounded(number.as_f64()),
        Value::Array(items) => items.iter_mut().for_each(|item| tidy(item, longest)),
        Value::Object(fields) => fields.values_mut().for_each(|field| tidy(field, longest)),
        _ => {}
    }
}

/// Six significant digits; null for what is no number.
pub(super) fn rounded(number: Option<f64>) -> Value {
    let short = number.filter(|n| n.is_finite()).and_then(|n| format!("{n:.5e}").parse::<f64>().ok());
    short.and_then(serde_json::Number::from_f64).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shaped(count: usize) -> Shaped {
        let item =
            |i: usize| json!({"name": format!("fusion.{i}"), "time_us": 1.0 / (i + 1) as f64, "flops": null});
        let map = (0..3).map(|i| (format!("host/{i}"), json!({"gib": i}))).collect();
        let units = json!({"time_us": "us"});
        Shaped::of_run("a")
            .and("units", units)
            .list("top_ops", (0..count).map(item).collect())
            .map("allocators", map)
    }

    fn fit(count: usize, max_tokens: usize, cursor: Option<(String, usize)>) -> Answer {
        shaped(count).fit(&Budget { max_tokens, rows: None, cursor }).expect("an answer")
    }

    #[test]
    fn no_answer_is_larger_than_its_budget() {
        for max_tokens in [200, 300, 500, 1000, 2000, 20_000] {
            let answer = fit(500, max_tokens, None);
            assert!(answer.bytes() <= max_tokens * 7 / 2, "{max_tokens}: {} bytes", answer.bytes());
            assert!(!answer.structured["top_ops"].as_array().expect("a list").is_empty(), "{max_tokens}");
        }
    }

    #[test]
    fn cursors_lead_through_the_whole_list() {
        let (mut seen, mut cursor) = (Vec::new(), None);
        for _ in 0..200 {
            let answer = fit(100, 400, cursor.take());
            for item in answer.structured["top_ops"].as_array().expect("a list") {
                seen.push(item["name"].as_str().expect("a name").to_owned());
            }
            let left =
                answer.structured.get("left_out").and_then(Value::as_array).cloned().unwrap_or_default();
            let Some(next) = left.iter().find(|left| left["what"] == "top_ops") else { break };
            let (name, place) = next["cursor"].as_str().and_then(|c| c.split_once('@')).expect("a cursor");
            cursor = Some((name.to_owned(), place.parse().expect("a place")));
        }
        assert_eq!(seen, (0..100).map(|i| format!("fusion.{i}")).collect::<Vec<_>>());
        let wrong = shaped(3).fit(&Budget { cursor: Some(("nope".into(), 0)), ..Budget::default() });
        assert!(wrong.is_err_and(|refusal| refusal.next.contains("top_ops@0")));
    }

    #[test]
    fn what_fits_is_whole() {
        let answer = fit(3, 2000, None);
        assert_eq!(answer.structured["units"]["time_us"], "us");
        assert_eq!(answer.structured["allocators"]["host/2"]["gib"], 2);
        assert!(answer.structured.get("left_out").is_none());
        assert!(
            answer.text.contains("top_ops: flops | name | time_us")
                || answer.text.contains("top_ops: name | time_us | flops")
        );
        assert!(answer.text.contains("unknown"), "null is said");
    }
}

//! The arguments of a call, read by type. Agents write numbers as texts and lists as one text: both are understood.

use haloscope_time::analysis::FORMER;
use serde_json::Value;

use crate::{Object, Refusal};

/// The arguments of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arguments(Object);

impl From<Object> for Arguments {
    fn from(object: Object) -> Self {
        Self(object)
    }
}

impl Arguments {
    /// The arguments by their current names: a [former](FORMER) name counts as the one for it now, where the schema has that and not
    /// the former one, and only the former one was given.
    #[must_use]
    pub fn in_current_words(mut self, schema: &Object) -> Self {
        let known = |name: &str| schema.get("properties").is_some_and(|all| all.get(name).is_some());
        for (former, now) in FORMER {
            let former = former.replace('-', "_");
            if known(now)
                && !known(&former)
                && !self.0.contains_key(*now)
                && let Some(value) = self.0.remove(&former)
            {
                self.0.insert((*now).to_owned(), value);
            }
        }
        self
    }

    /// Refuses arguments that are not properties of a tool's input schema, and the lack of those it demands.
    ///
    /// # Errors
    /// Names the argument and those that exist.
    pub fn check(&self, tool: &str, schema: &Object) -> Result<(), Refusal> {
        let known: Vec<&str> = match schema.get("properties") {
            Some(Value::Object(properties)) => properties.keys().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        if let Some(unknown) = self.0.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(Refusal::unknown(
                &format!("argument of `{tool}`"),
                unknown,
                &known,
                "call again with arguments that it has",
            ));
        }
        let demanded = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        match demanded.filter_map(Value::as_str).find(|key| self.given(key).is_none()) {
            Some(key) => Err(self.lacks(key, &format!("`{tool}` needs it"))),
            None => Ok(()),
        }
    }

    fn lacks(&self, name: &str, why: &str) -> Refusal {
        let next = if name.starts_with("run") || name == "other" || name == "baseline" {
            "`xprof_list_runs` lists the runs".to_owned()
        } else {
            format!("call again with `{name}`")
        };
        Refusal::new(format!("`{name}` is missing: {why}"), next)
    }

    /// A value that was given; null counts as not given.
    #[must_use]
    pub fn given(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A text; numbers and yes or no are taken as they are written. An empty text counts as not given.
    ///
    /// # Errors
    /// For lists and objects.
    pub fn text(&self, name: &str) -> Result<Option<String>, Refusal> {
        let text = match self.given(name) {
            None => return Ok(None),
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Bool(flag)) => flag.to_string(),
            Some(other) => return Err(expected(name, "a text", other)),
        };
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    /// A text that must be given.
    ///
    /// # Errors
    /// As [`Arguments::text`], and where it is missing.
    pub fn demanded(&self, name: &str) -> Result<String, Refusal> {
        self.text(name)?.ok_or_else(|| self.lacks(name, "expected a text"))
    }

    /// Several texts: a list, or one text with commas between them.
    ///
    /// # Errors
    /// For what is neither.
    pub fn list(&self, name: &str) -> Result<Vec<String>, Refusal> {
        let Some(Value::Array(items)) = self.given(name) else {
            let text = self.text(name)?.unwrap_or_default();
            return Ok(split_list(&text).map(str::to_owned).collect());
        };
        let word = |item: &Value| match item {
            Value::String(text) => Ok(text.trim().to_owned()),
            Value::Number(number) => Ok(number.to_string()),
            other => Err(expected(name, "a list of texts", other)),
        };
        items.iter().map(word).collect()
    }

    /// A whole number of at least `least`.
    ///
    /// # Errors
    /// For what is none, or too small.
    pub fn count(&self, name: &str, least: usize) -> Result<Option<usize>, Refusal> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number.and_then(|number| usize::try_from(number).ok()).filter(|&number| number >= least);
        number.map(Some).ok_or_else(|| expected(name, &format!("a whole number of at least {least}"), value))
    }

    /// Yes or no; no where it is not given.
    ///
    /// # Errors
    /// For what is neither.
    pub fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.given(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if matches!(text.as_str(), "true" | "yes" | "1") => Ok(true),
            Some(Value::String(text)) if matches!(text.as_str(), "false" | "no" | "0" | "") => Ok(false),
            Some(other) => Err(expected(name, "true or false", other)),
        }
    }

    /// One of these words.
    ///
    /// # Errors
    /// For another one, with those that exist.
    pub fn choice(&self, name: &str, words: &[&str]) -> Result<Option<String>, Refusal> {
        match self.text(name)? {
            Some(word) if !words.contains(&word.as_str()) => {
                Err(Refusal::unknown(&format!("`{name}`"), &word, words, "call again with one that exists"))
            }
            word => Ok(word),
        }
    }

    /// An object of texts, in the order of their names.
    ///
    /// # Errors
    /// For what is none.
    pub fn texts(&self, name: &str) -> Result<Vec<(String, String)>, Refusal> {
        let inner = match self.given(name) {
            None => return Ok(Vec::new()),
            Some(Value::Object(inner)) => Self(inner.clone()),
            Some(other) => return Err(expected(name, "an object such as {\"by\": \"category\"}", other)),
        };
        let pair = |key: &String| Ok(inner.text(key)?.map(|text| (key.clone(), text)));
        inner.0.keys().filter_map(|key| pair(key).transpose()).collect()
    }
}

/// Words with commas between them.
fn split_list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty())
}

fn whole(number: f64) -> Option<u64> {
    (number >= 0.0 && number.fract() == 0.0 && number < 1e15).then_some(number as u64)
}

fn expected(name: &str, what: &str, found: &Value) -> Refusal {
    Refusal::new(
        format!("`{name}`: expected {what}, found `{}`", crate::refusal::shorten(&found.to_string(), 80)),
        format!("call again with {what} as `{name}`"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: Value) -> Arguments {
        let Value::Object(object) = value else { panic!("an object") };
        Arguments::from(object)
    }

    #[test]
    fn reads_what_agents_write() {
        let a = arguments(json!({"run": " a ", "rows": "12", "top": 5.0, "steady": "yes", "tables": "x, y",
            "hosts": ["h", 1], "none": null, "params": {"by": "category", "rows": 3, "no": null}}));
        assert_eq!(a.demanded("run").unwrap(), "a");
        assert_eq!(a.count("rows", 1).unwrap(), Some(12));
        assert_eq!(a.count("top", 1).unwrap(), Some(5));
        assert_eq!(a.count("none", 1).unwrap(), None);
        assert!(a.flag("steady").unwrap() && !a.flag("none").unwrap());
        assert_eq!(a.list("tables").unwrap(), ["x", "y"]);
        assert_eq!(a.list("hosts").unwrap(), ["h", "1"]);
        let pairs = [("by", "category"), ("rows", "3")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(a.texts("params").unwrap(), pairs);
    }

    #[test]
    fn says_what_it_expected() {
        let a = arguments(json!({"rows": -1, "run": [], "steady": "perhaps", "by": "colour", "params": 3}));
        let wrong = |result: Result<(), Refusal>| result.unwrap_err().wrong;
        assert!(wrong(a.count("rows", 1).map(drop)).contains("whole number of at least 1, found `-1`"));
        assert!(wrong(a.text("run").map(drop)).contains("expected a text, found `[]`"));
        assert!(wrong(a.flag("steady").map(drop)).contains("`\"perhaps\"`"));
        assert!(wrong(a.choice("by", &["op"]).map(drop)).contains("`colour`"));
        assert!(wrong(a.texts("params").map(drop)).contains("`3`"));
        assert!(wrong(a.demanded("other").map(drop)).contains("`other` is missing"));
    }

    #[test]
    fn what_a_tool_does_not_take_is_refused() {
        let Value::Object(schema) = json!({"properties": {"run": {}, "rows": {}}, "required": ["run"]})
        else {
            panic!("an object")
        };
        let unknown = arguments(json!({"run": "a", "row": 3})).check("ops", &schema).unwrap_err();
        assert!(
            unknown.wrong.contains("did you mean `rows`?") && unknown.next.contains("rows, run"),
            "{unknown:?}"
        );
        let missing = arguments(json!({"rows": 3, "run": null})).check("ops", &schema).unwrap_err();
        assert!(missing.wrong.contains("`run` is missing") && missing.next.contains("xprof_list_runs"));
        assert!(arguments(json!({"run": "a"})).check("ops", &schema).is_ok());
    }

    #[test]
    fn former_names_still_count() {
        let Value::Object(schema) = json!({"properties": {"limit": {}, "force": {}}}) else {
            panic!("an object")
        };
        for former in ["rows", "top", "limit_nodes", "lines"] {
            let now = arguments(json!({former: 3})).in_current_words(&schema);
            assert_eq!(now.count("limit", 1).unwrap(), Some(3), "{former}");
            assert!(now.check("compare", &schema).is_ok(), "{former}");
        }
        let now = arguments(json!({"anyway": "yes"})).in_current_words(&schema);
        assert!(now.flag("force").unwrap());
        // The current name wins, and then the former one is an argument that the tool has not.
        let both = arguments(json!({"limit": 2, "rows": 3})).in_current_words(&schema);
        assert_eq!(both.count("limit", 1).unwrap(), Some(2));
        assert!(both.check("compare", &schema).is_err());
        // A tool that has an argument of a former name keeps it.
        let Value::Object(own) = json!({"properties": {"limit": {}, "rows": {}}}) else {
            panic!("an object")
        };
        assert_eq!(arguments(json!({"rows": 3})).in_current_words(&own).count("limit", 1).unwrap(), None);
    }
}

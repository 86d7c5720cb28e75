//! The part of an address behind the question mark.

use axum::http::Uri;
use haloscope_profile::LineId;

use crate::answer::Failure;

/// The parameter that carries the token. Every route takes it.
pub(crate) const TOKEN: &str = "token";

/// The parameters of a request, each at most once and known to the route.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// The parameters of `uri`.
    ///
    /// # Errors
    /// For one that is not in `known` (with what is), and for one that is given twice.
    pub(crate) fn parse(uri: &Uri, known: &[&str]) -> Result<Self, Failure> {
        let mut query = Self::default();
        for (key, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            if key == TOKEN {
                continue;
            }
            if !known.contains(&&*key) {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(Failure::usage(format!("unknown parameter `{key}`; there are: {known}"), ""));
            }
            if query.get(&key).is_some() {
                return Err(Failure::usage(
                    format!("`{key}` is given twice"),
                    "lists are written with commas",
                ));
            }
            query.0.push((key.into_owned(), value.into_owned()));
        }
        Ok(query)
    }

    /// The text of a parameter, if it is given.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// A whole number that must be given.
    pub(crate) fn number<T: std::str::FromStr>(&self, key: &str) -> Result<T, Failure> {
        let text = self.get(key).ok_or_else(|| Failure::usage(format!("`{key}` is missing"), ""))?;
        text.parse()
            .map_err(|_| Failure::usage(format!("`{key}`: expected a whole number, found `{text}`"), ""))
    }

    /// A whole number, or `other` where it is not given.
    pub(crate) fn number_or<T: std::str::FromStr>(&self, key: &str, other: T) -> Result<T, Failure> {
        if self.get(key).is_some() { self.number(key) } else { Ok(other) }
    }

    /// Track ids with commas between them; none where the text is empty.
    pub(crate) fn lines(&self, key: &str) -> Result<Vec<LineId>, Failure> {
        let text = self.get(key).ok_or_else(|| Failure::usage(format!("`{key}` is missing"), ""))?;
        let bad =
            |word: &str| Failure::usage(format!("`{key}`: expected ids such as 1,2, found `{word}`"), "");
        let words = text.split(',').map(str::trim).filter(|w| !w.is_empty());
        words.map(|word| word.parse().map(LineId).map_err(|_| bad(word))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Result<Query, Failure> {
        Query::parse(&text.parse().unwrap(), &["run", "px", "tracks"])
    }

    #[test]
    fn decodes_what_is_known() {
        let q = query("/x?run=a%2Fb+c&px=12&token=secret&tracks=1,%203").unwrap();
        assert_eq!(q.get("run"), Some("a/b c"));
        assert_eq!(q.number::<u32>("px").unwrap(), 12);
        assert_eq!(q.lines("tracks").unwrap(), [LineId(1), LineId(3)]);
        assert_eq!(q.get("token"), None);
    }

    #[test]
    fn refuses_what_is_not() {
        assert!(query("/x?runs=a").is_err());
        assert!(query("/x?run=a&run=b").is_err());
        let q = query("/x?px=-1&tracks=1;2").unwrap();
        assert!(
            q.number::<u32>("px").is_err() && q.number::<u32>("run").is_err() && q.lines("tracks").is_err()
        );
    }
}

//! The parameters of a question: `key=value`, as in an address.

use crate::Error;

/// A parameter that a tool takes.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name, as in the address.
    pub id: &'static str,
    /// What it chooses, with its values and its default.
    pub doc: &'static str,
}

/// What is asked for beside the tool. A key that is given twice counts once, with the last value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Sets a parameter.
    pub fn set(&mut self, key: &str, value: &str) {
        self.0.retain(|(k, _)| k != key);
        self.0.push((key.to_owned(), value.to_owned()));
    }

    /// The value of a parameter; an empty one counts as not given, as in the forms of a page.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, v)| k == key && !v.is_empty()).map(|(_, v)| v.as_str())
    }

    /// The names of all parameters, in the order given.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(k, _)| k.as_str())
    }

    /// A switch: `true` or `1`, and `false`, `0` or nothing, in any case.
    ///
    /// # Errors
    /// [`Error::Usage`] for another word.
    pub fn flag(&self, key: &str) -> Result<bool, Error> {
        match self.get(key).map(str::to_ascii_lowercase).as_deref() {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(word) => Err(Error::Usage(format!("`{key}`: expected true or false, found `{word}`"))),
        }
    }

    /// A number, if it is given.
    ///
    /// # Errors
    /// [`Error::Usage`] for what is none.
    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>, Error> {
        let read = |word: &str| {
            word.parse().map_err(|_| Error::Usage(format!("`{key}`: expected a number, found `{word}`")))
        };
        self.get(key).map(read).transpose()
    }

    /// One of `words`, or the first of them where nothing is given.
    ///
    /// # Errors
    /// [`Error::Usage`] for another word; lists them.
    pub fn choice<'a>(&'a self, key: &str, words: &[&'a str]) -> Result<&'a str, Error> {
        match self.get(key) {
            None => Ok(words.first().copied().unwrap_or_default()),
            Some(word) if words.contains(&word) => Ok(word),
            Some(word) => {
                Err(Error::Usage(format!("`{key}`: there is no `{word}`; there are: {}", words.join(", "))))
            }
        }
    }
}

impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Params {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut params = Self::default();
        for (key, value) in pairs {
            params.set(key.as_ref(), value.as_ref());
        }
        params
    }
}

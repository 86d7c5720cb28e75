//! Flags in a text: a launch script, an environment dump, JSON, YAML or Python.
//!
//! The text is not run. Each line is looked at for flags (`--xla_x=y`, `--xla_x y`, `--xla_x`, `--noxla_x`, `"xla_x": y`,
//! `xla_x=y`), comments are left out, lines that end in a backslash go on in the next, and the environment variable is the one
//! that the statement assigns.

use std::sync::LazyLock;

use regex::Regex;

/// A flag as it stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Its name, without dashes and without the `no` that makes it false.
    pub name: String,
    /// Its value; `true` and `false` for flags without one. Empty where it is given as empty.
    pub value: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The environment variable that the statement assigns, where it does.
    pub variable: Option<String>,
    /// How the value was given.
    pub form: Form,
    /// What made it lose its effect, if anything did.
    pub lost: Option<Lost>,
}

/// How a value was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `--flag=value`, or as a key of JSON, YAML or Python.
    Joined,
    /// `--flag value`.
    Separate,
    /// `--flag` or `--noflag`.
    Bare,
}

/// Why a flag has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// It is given again further down: the last one holds.
    Repeated(usize),
    /// Its variable is assigned again, without what it held.
    Overwritten(usize),
}

/// Variables that hold flags.
const VARIABLES: [&str; 4] = ["XLA_FLAGS", "LIBTPU_INIT_ARGS", "TPU_INIT_ARGS", "XLA_PYTHON_FLAGS"];

/// Bytes of a text that are looked at.
pub const LARGEST: usize = 4 << 20;

static FLAG: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "(?:xla|megascale)_[A-Za-z0-9_]+|(?:tpu|barna_core|deepsea|jax|libtpu)_[A-Za-z0-9_]+";
    Regex::new(&format!(r#"(?P<dash>--?)?(?P<no>no)?(?P<name>{names})"#)).ok()
});

static ASSIGNMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = VARIABLES.join("|");
    // `X=`, `X+=`, `X: `, `os.environ["X"] =`, `"X":`, `ENV X `, `os.environ.setdefault("X",`, `name: X` of Kubernetes.
    Regex::new(&format!(r#"(?P<ref>\$\{{?)?\b(?P<name>{names})\b(?P<after>["']?\]?\s*(?P<op>\+=|=|:|,)?)"#))
        .ok()
});

/// The flags of a text, in its order.
#[must_use]
pub fn parse(text: &str) -> Vec<Use> {
    let (Some(flags), Some(assignments)) = (FLAG.as_ref(), ASSIGNMENT.as_ref()) else { return Vec::new() };
    let mut found: Vec<Use> = Vec::new();
    let mut variable: Option<String> = None;
    let mut goes_on = false;
    for (number, raw) in (1..).zip(text.lines()) {
        let line = without_comment(raw);
        if line.trim().is_empty() {
            // A comment line between two parts of a list ends nothing.
            continue;
        }
        let assigned = assignment(line, assignments);
        match &assigned {
            Some((name, keeps)) => {
                if !keeps {
                    for earlier in
                        found.iter_mut().filter(|u| u.lost.is_none() && u.variable.as_ref() == Some(name))
                    {
                        earlier.lost = Some(Lost::Overwritten(number));
                    }
                }
                variable = Some(name.clone());
            }
            None if !goes_on && !begins_with_flag(line) && !is_value_of_name(line) => variable = None,
            None => {}
        }
        found.extend(of_line(line, number, variable.as_deref(), flags));
        goes_on = is_open(line);
    }
    mark_repeated(&mut found);
    found
}

/// The variable that a line assigns, and whether it keeps what the variable held.
fn assignment(line: &str, assignments: &Regex) -> Option<(String, bool)> {
    let all: Vec<_> = assignments.captures_iter(line).collect();
    let is_target = |c: &&regex::Captures<'_>| {
        c.name("ref").is_none()
            && (c.name("op").is_some()
                || line.trim_end().ends_with(&c["name"])
                || c["after"].starts_with(' '))
    };
    let target = all.iter().find(is_target)?;
    let name = target["name"].to_owned();
    // Only `=` takes away what was there: YAML and JSON may have one variable for each of several containers.
    let appends = target.name("op").is_none_or(|op| op.as_str() != "=");
    let again = all.iter().filter(|c| c["name"] == name).count() > 1;
    Some((name, appends || again))
}

/// A line of a list of flags: what stands before the first is only marks.
fn begins_with_flag(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_whitespace() || "\"'([,+f".contains(c));
    let rest = rest.strip_prefix("- ").map_or(rest, |r| r.trim_start_matches(['"', '\'', ' ']));
    rest.starts_with("--")
}

/// A line whose statement goes on in the next: it ends in a backslash, an open bracket, an operator or an open quote.
fn is_open(line: &str) -> bool {
    let line = line.trim_end();
    match line.chars().next_back() {
        Some(quote @ ('"' | '\'')) => line.matches(quote).count() % 2 == 1,
        Some(last) => "\\(+:[,|>=".contains(last),
        None => false,
    }
}

/// `value: …` under `name: XLA_FLAGS`, as Kubernetes writes the environment.
fn is_value_of_name(line: &str) -> bool {
    line.trim_start_matches(|c: char| c.is_whitespace() || "\"'-{".contains(c)).starts_with("value")
}

/// A line up to its comment: `#` at its start or behind a space, outside of quotes that begin in the line.
fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    let (mut quote, mut last) = (None, ' ');
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if c == open && last != '\\' => quote = None,
            ('#', None) if last.is_whitespace() => return &line[..at],
            _ => {}
        }
        last = c;
    }
    line
}

fn of_line(line: &str, number: usize, variable: Option<&str>, flags: &Regex) -> Vec<Use> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(hit) = flags.captures_at(line, from) {
        let Some(whole) = hit.get(0) else { break };
        from = whole.end();
        // A part of a longer word, of a path or of another flag's value is no flag.
        let before = line[..whole.start()].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || "_-/.$%{".contains(c)) {
            continue;
        }
        let dashed = hit.name("dash").is_some();
        let name = hit["name"].to_owned();
        // Without dashes only what is a flag by its name: `tpu_name=v5e` is none.
        if !(dashed || name.starts_with("xla_") || name.starts_with("megascale_")) {
            continue;
        }
        let negated = hit.name("no").is_some();
        let rest = &line[whole.end()..];
        let (value, used, form) = match value(rest, dashed) {
            Some((value, used, form)) => (value, used, form),
            None if dashed => (String::new(), 0, Form::Bare),
            None => continue,
        };
        let value = match (form, negated) {
            (Form::Bare, true) => "false".to_owned(),
            (Form::Bare, false) => "true".to_owned(),
            _ => value,
        };
        from += used;
        found.push(Use {
            name,
            value,
            line: number,
            variable: variable.map(str::to_owned),
            form,
            lost: None,
        });
    }
    found
}

/// The value behind a flag's name: the value, how many bytes it takes, how it was given.
fn value(rest: &str, dashed: bool) -> Option<(String, usize, Form)> {
    let unquoted = rest.trim_start_matches(['"', '\'']);
    let skipped = rest.len() - unquoted.len();
    let trimmed = unquoted.trim_start();
    let is_key = !dashed || skipped > 0;
    if let Some(after) = trimmed.strip_prefix('=').or_else(|| trimmed.strip_prefix(':').filter(|_| is_key)) {
        let spaced = is_key || trimmed.len() < unquoted.len();
        let after = if spaced { after.trim_start() } else { after };
        let (text, used) = word(after);
        return Some((text, rest.len() - after.len() + used, Form::Joined));
    }
    // `--flag value`: a plain word behind a space.
    if dashed && skipped == 0 && trimmed.len() < unquoted.len() {
        let (text, used) = word(trimmed);
        let is_plain = text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '.')
            && !text.contains('=')
            && !trimmed.starts_with(['"', '\'']);
        if is_plain && is_value(&text) {
            return Some((text, rest.len() - trimmed.len() + used, Form::Separate));
        }
    }
    None
}

/// A word that can be a flag's value: yes, no, a number. Other words behind a flag are taken for commands and paths.
fn is_value(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(lower.as_str(), "true" | "false" | "yes" | "no" | "enabled" | "disabled" | "auto" | "t" | "f")
        || text.parse::<f64>().is_ok()
}

/// A value: what is in quotes, or up to a space or a mark. Gives how many bytes it takes.
fn word(text: &str) -> (String, usize) {
    let escaped = text.strip_prefix('\\').unwrap_or(text);
    if let Some(quote) = escaped.chars().next().filter(|c| "\"'".contains(*c)) {
        let inner = &escaped[1..];
        let end = inner.find(quote).unwrap_or(inner.len());
        let used = (text.len() - inner.len() + end + 1).min(text.len());
        return (inner[..end].trim_end_matches('\\').to_owned(), used);
    }
    let end = text.find(|c: char| c.is_whitespace() || "\"'`;)]}\\".contains(c)).unwrap_or(text.len());
    let plain = text[..end].trim_end_matches(',');
    (plain.to_owned(), plain.len())
}

/// Of flags given several times in one variable the last one holds.
fn mark_repeated(found: &mut [Use]) {
    for i in 0..found.len() {
        let later = found[i + 1..].iter().rev().find(|other| {
            other.lost.is_none() && other.name == found[i].name && other.variable == found[i].variable
        });
        if let (None, Some(line)) = (found[i].lost, later.map(|u| u.line)) {
            found[i].lost = Some(Lost::Repeated(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(text: &str) -> Vec<(String, String, usize)> {
        parse(text).into_iter().filter(|u| u.lost.is_none()).map(|u| (u.name, u.value, u.line)).collect()
    }

    fn one(text: &str) -> (String, String, Form) {
        let mut all = parse(text);
        assert_eq!(all.len(), 1, "{text}: {all:?}");
        let only = all.remove(0);
        (only.name, only.value, only.form)
    }

    #[test]
    fn forms_of_flags() {
        let flag = |value: &str, form| ("xla_tpu_a".to_owned(), value.to_owned(), form);
        for (text, value, form) in [
            ("--xla_tpu_a=true", "true", Form::Joined),
            ("-xla_tpu_a=7", "7", Form::Joined),
            ("--xla_tpu_a 7", "7", Form::Separate),
            ("--xla_tpu_a", "true", Form::Bare),
            ("--noxla_tpu_a", "false", Form::Bare),
            ("--xla_tpu_a python train.py", "true", Form::Bare),
            ("--xla_tpu_a='x y'", "x y", Form::Joined),
            ("--xla_tpu_a=", "", Form::Joined),
            ("  \"--xla_tpu_a=a,b\",", "a,b", Form::Joined),
            ("  \"xla_tpu_a\": true,", "true", Form::Joined),
            ("  xla_tpu_a: 'kEnabled'", "kEnabled", Form::Joined),
            ("compiler_options={'xla_tpu_a': 98304}", "98304", Form::Joined),
            ("dict(xla_tpu_a=\"false\")", "false", Form::Joined),
            ("XLA_FLAGS=--xla_tpu_a=1", "1", Form::Joined),
            ("{\"XLA_FLAGS\": \"--xla_tpu_a=1\"}", "1", Form::Joined),
            ("args: [\"--xla_tpu_a=1\"]", "1", Form::Joined),
        ] {
            assert_eq!(one(text), flag(value, form), "{text}");
        }
        for none in [
            "# --xla_tpu_a=1",
            "the flag xla_tpu_a is old",
            "/tmp/xla_dump_here",
            "run # --xla_tpu_a=1",
            "$xla_a=1",
        ] {
            assert_eq!(parse(none), [], "{none}");
        }
    }

    #[test]
    fn variables_of_a_script() {
        let text = "export LIBTPU_INIT_ARGS=\"--xla_tpu_a=true \\\n  --xla_tpu_b=2 \\\n  --xla_tpu_c\"\nexport XLA_FLAGS=\"${XLA_FLAGS} --xla_d=1\"\npython train.py --xla_e=1\n";
        let of = |name: &str| parse(text).into_iter().find(|u| u.name == name).and_then(|u| u.variable);
        assert_eq!(of("xla_tpu_b").as_deref(), Some("LIBTPU_INIT_ARGS"));
        assert_eq!(of("xla_tpu_c").as_deref(), Some("LIBTPU_INIT_ARGS"));
        assert_eq!(of("xla_d").as_deref(), Some("XLA_FLAGS"));
        assert_eq!(of("xla_e"), None);
        let yaml = "- name: XLA_FLAGS\n  value: \"--xla_d=1\"\n";
        assert_eq!(parse(yaml)[0].variable.as_deref(), Some("XLA_FLAGS"));
        let python = "os.environ['XLA_FLAGS'] = (\n  '--xla_d=1 '\n  # '--xla_off=1 '\n  '--xla_e=2'\n)\n";
        let all: Vec<_> = parse(python).into_iter().map(|u| (u.name, u.variable)).collect();
        let xla = Some("XLA_FLAGS".to_owned());
        assert_eq!(all, [("xla_d".to_owned(), xla.clone()), ("xla_e".to_owned(), xla)]);
    }

    #[test]
    fn the_last_one_holds() {
        let text = "XLA_FLAGS='--xla_a=1 --xla_b=1 --xla_a=2'\n";
        assert_eq!(parse(text)[0].lost, Some(Lost::Repeated(1)));
        assert_eq!(short(text), [("xla_b".into(), "1".into(), 1), ("xla_a".into(), "2".into(), 1)]);
        let appended = "os.environ['XLA_FLAGS'] += ' --xla_b=1'\nos.environ['XLA_FLAGS'] = os.environ['XLA_FLAGS'] + ' --xla_c=1'\n";
        assert_eq!(short(appended).len(), 2);
        let overwritten = "export XLA_FLAGS='--xla_a=1'\nexport XLA_FLAGS='--xla_b=1'\n";
        assert_eq!(parse(overwritten)[0].lost, Some(Lost::Overwritten(2)));
        assert_eq!(short(overwritten), [("xla_b".into(), "1".into(), 2)]);
    }

    #[test]
    fn no_text_stops_it() {
        let mut seed = 7_u64;
        let alphabet: Vec<char> = "-xla_tpu=\"'\\ \n#$:é{}[],1no".chars().collect();
        for _ in 0..2_000 {
            let text: String = (0..60)
                .map(|_| {
                    seed ^= seed << 13;
                    seed ^= seed >> 7;
                    seed ^= seed << 17;
                    alphabet[(seed % alphabet.len() as u64) as usize]
                })
                .collect();
            for flag in parse(&format!("{text}--xla_a{text}")) {
                assert!(!flag.name.is_empty() && flag.line > 0);
            }
        }
    }
}

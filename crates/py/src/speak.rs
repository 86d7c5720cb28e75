//! Words of a command line as calls of Python: `` `haloscope ops RUN --by category` `` is `` `run.ops(by="category")` ``, and
//! `` `--window` `` is `` `window=` ``. What is no word of ours, such as a flag of XLA, stays as it is.

use haloscope_analyses as analyses;
use haloscope_analyses::python::{argument, method};
use haloscope_time::analysis::{Analysis, LIMIT, ParamKind};

/// What every analysis takes beside its parameters.
const SCOPE: [&str; 6] = ["hosts", "devices", "modules", "steps", "window", "steady"];
/// What stands for the run that is asked about.
const RUNS: [&str; 3] = ["RUN", "logs", "LOGDIR"];

/// A text with what it quotes as Python has it.
pub(crate) fn in_python(text: &str) -> String {
    let mut parts = text.split('`');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut is_code = true;
    for part in parts {
        out.push('`');
        let said = if is_code { call(part).or_else(|| option(part)) } else { None };
        out.push_str(said.as_deref().unwrap_or(part));
        is_code = !is_code;
    }
    out
}

/// A command line without its quotes as a call; `None` for one that is none of an analysis.
pub(crate) fn call(command: &str) -> Option<String> {
    let words = split(command)?;
    let mut words = words.iter().map(String::as_str).peekable();
    let is_named = words.next_if_eq(&"haloscope").is_some();
    let first = words.next()?;
    if is_named && first == "timeline" {
        return shown(words);
    }
    let second = words.peek().map(|second| format!("{first} {second}"));
    let analysis = match second.and_then(|id| analyses::find(&id)) {
        Some(member) => {
            words.next();
            member
        }
        None => analyses::ALL.iter().copied().find(|analysis| analysis.id == first)?,
    };
    // The name of an analysis alone may be a word like any other.
    if !is_named && words.peek().is_none() {
        return None;
    }
    let mut arguments = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some(option) if is_form(analysis, option) => {
                words.next();
            }
            Some(option) => {
                let (option, given) = option.split_once('=').map_or((option, None), |(o, v)| (o, Some(v)));
                let name = name_of(analysis, option)?;
                let is_switch = is_switch(analysis, option);
                let value = given.or_else(|| words.next_if(|next| !is_switch && !next.starts_with("--")));
                arguments.push(match value {
                    Some(value) => format!("{name}={}", value_of(analysis, option, value)),
                    None if is_switch => format!("{name}=True"),
                    None => format!("{name}=..."),
                });
            }
            // The run is the object; those beside it are arguments.
            None if RUNS.contains(&word) => {}
            None if arguments.is_empty() && analysis.others().word().is_none() => {}
            None => arguments.push(word.to_lowercase()),
        }
    }
    Some(format!("run.{}({})", method(analysis), arguments.join(", ")))
}

/// The timeline of a part of the run: what `show` draws.
fn shown<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let (mut arguments, mut option) = (Vec::new(), None);
    for word in words {
        match (option.take(), word.strip_prefix("--")) {
            (None, Some(name)) if SCOPE.contains(&name) => option = Some(name),
            (Some(name), None) => arguments.push(format!("{name}={}", quoted(word))),
            (None, None) if RUNS.contains(&word) => {}
            _ => return None,
        }
    }
    Some(format!("run.show({})", arguments.join(", ")))
}

/// `--window` or `--window 1ms..2ms` by itself.
fn option(text: &str) -> Option<String> {
    let (name, value) =
        text.strip_prefix("--")?.split_once(' ').map_or((text.strip_prefix("--")?, ""), |both| both);
    let takes = |analysis: &&Analysis| analysis.params.iter().any(|param| param.id == name);
    let is_ours =
        SCOPE.contains(&name) || name == LIMIT.id || analyses::ALL.iter().copied().any(|a| takes(&a));
    let is_word = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    (is_ours && is_word && !value.contains(' ')).then(|| {
        let name = argument(name);
        match value {
            "" => format!("{name}="),
            value if value.bytes().all(|byte| byte.is_ascii_digit()) => format!("{name}={value}"),
            value => format!("{name}={}", quoted(value)),
        }
    })
}

fn name_of(analysis: &Analysis, option: &str) -> Option<String> {
    let is_known = SCOPE.contains(&option)
        || analysis.others().word() == Some(option)
        || analysis.params.iter().any(|param| param.id == option);
    is_known.then(|| argument(option))
}

/// Whether an option, with its value, says how an answer is written and nothing of what is asked.
fn is_form(analysis: &Analysis, option: &str) -> bool {
    let is_param = analysis.params.iter().any(|param| param.id == option);
    !is_param && ["table", "format", "width", LIMIT.id].contains(&option)
}

fn is_switch(analysis: &Analysis, option: &str) -> bool {
    option == "steady"
        || analysis.params.iter().any(|param| {
            param.id == option && matches!(param.kind, ParamKind::Flag | ParamKind::Choice(&["no", "yes"]))
        })
}

fn value_of(analysis: &Analysis, option: &str, value: &str) -> String {
    let kind = analysis.params.iter().find(|param| param.id == option).map(|param| param.kind);
    match kind {
        Some(ParamKind::Count) if value.parse::<u64>().is_ok() => value.to_owned(),
        None if analysis.others().word() == Some(option) => value.to_lowercase(),
        _ => quoted(value),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The words of a command line, with a shell's quotes taken off; `None` where a quote is not closed.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = vec![];
    let mut chars = line.chars().peekable();
    while chars.next_if(|c| *c == ' ').is_some() || chars.peek().is_some() {
        let mut word = String::new();
        while let Some(c) = chars.next_if(|c| *c != ' ') {
            match c {
                '\'' => loop {
                    match chars.next()? {
                        '\'' => break,
                        inner => word.push(inner),
                    }
                },
                '\\' => word.push(chars.next()?),
                c => word.push(c),
            }
        }
        if !word.is_empty() {
            words.push(word);
        }
    }
    Some(words)
}

//! Finds the paths of a Rust source that may leave a module: those that begin with `crate`, `super`, or another crate.

use std::path::Path;

/// A path, resolved to begin with `crate` or with the name of another crate, and the line on which it ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// The modules that lead from the root of the crate to `file`, which is named relative to `src`.
pub(super) fn module_of(file: &Path) -> Vec<String> {
    let mut modules: Vec<String> =
        file.with_extension("").components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    if modules.last().is_some_and(|last| last == "mod" || last == "lib") {
        modules.pop();
    }
    modules
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    PathSep,
    Open,
    Close,
    Star,
    Other(char),
}

/// Every path in `text` with at least two parts, or a group of them, resolved from the module `modules`; those in inline
/// modules named `tests` are left out.
pub(super) fn leaving(text: &str, modules: &[String]) -> Vec<Used> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    // Inline modules that are open, by the depth of braces at which each began, and whether they are tests.
    let mut inline: Vec<(usize, bool)> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at].0 {
            Token::Word(word) if word == "mod" && matches!(token(&tokens, at + 2), Some(Token::Open)) => {
                let tests = matches!(token(&tokens, at + 1), Some(Token::Word(name)) if name == "tests");
                inline.push((depth, tests));
                depth += 1;
                at += 3;
            }
            Token::Word(word) if matches!(token(&tokens, at + 1), Some(Token::PathSep)) => {
                let levels = modules.len() + inline.len();
                let before = found.len();
                at = path(&tokens, at + 2, vec![word.clone()], levels, &mut found);
                if inline.iter().any(|(_, tests)| *tests) {
                    found.truncate(before);
                }
            }
            Token::Open => {
                depth += 1;
                at += 1;
            }
            Token::Close => {
                depth = depth.saturating_sub(1);
                if inline.last().is_some_and(|(began, _)| *began == depth) {
                    inline.pop();
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    found
}

fn token(tokens: &[(Token, usize)], at: usize) -> Option<&Token> {
    tokens.get(at).map(|(token, _)| token)
}

/// Reads on from `at`, just behind a `::` that follows `path`; gives the place behind the path.
fn path(
    tokens: &[(Token, usize)],
    at: usize,
    mut path: Vec<String>,
    levels: usize,
    found: &mut Vec<Used>,
) -> usize {
    let Some((token_here, line)) = tokens.get(at) else { return at };
    match token_here {
        Token::Word(word) => {
            path.push(word.clone());
            if matches!(token(tokens, at + 1), Some(Token::PathSep)) {
                return self::path(tokens, at + 2, path, levels, found);
            }
            keep(path, *line, levels, found);
            at + 1
        }
        Token::Star => {
            path.push("*".to_owned());
            keep(path, *line, levels, found);
            at + 1
        }
        Token::Open => group(tokens, at + 1, &path, levels, found),
        // A turbofish, or the like: the path ends here.
        _ => {
            keep(path, *line, levels, found);
            at
        }
    }
}

/// Reads a group, `at` just behind its brace; gives the place behind the closing one.
fn group(
    tokens: &[(Token, usize)],
    mut at: usize,
    before: &[String],
    levels: usize,
    found: &mut Vec<Used>,
) -> usize {
    while let Some((here, line)) = tokens.get(at) {
        match here {
            Token::Close => return at + 1,
            Token::Word(word) if word == "self" => {
                keep(before.to_vec(), *line, levels, found);
                at += 1;
            }
            Token::Word(word) if word == "as" => at += 2,
            Token::Word(_) | Token::Star => at = path(tokens, at, before.to_vec(), levels, found),
            _ => at += 1,
        }
    }
    at
}

/// Resolves leading `self` and `super`, and keeps what then begins at the root or in another crate.
fn keep(mut path: Vec<String>, line: usize, levels: usize, found: &mut Vec<Used>) {
    if path.first().is_some_and(|first| first == "self") {
        path.remove(0);
    }
    let climbs = path.iter().take_while(|part| *part == "super").count();
    if climbs > 0 {
        if climbs < levels {
            return;
        }
        path.splice(..climbs, ["crate".to_owned()]);
    }
    found.push(Used { path, line });
}

/// Words and signs with their lines; comments, strings, characters and lifetimes are left out.
fn tokens(text: &str) -> Vec<(Token, usize)> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut line = 1;
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        let end = match c {
            '/' if next == Some('/') => find(&chars, at, |rest| rest[0] == '\n'),
            '/' if next == Some('*') => block_comment(&chars, at),
            '"' => string(&chars, at + 1),
            'r' if matches!(next, Some('"' | '#')) => match raw_string(&chars, at + 1) {
                Some(end) => end,
                None => word(&chars, at, line, &mut out),
            },
            '\'' => character(&chars, at),
            ':' if next == Some(':') => {
                out.push((Token::PathSep, line));
                at + 2
            }
            c if c.is_alphanumeric() || c == '_' => word(&chars, at, line, &mut out),
            c => {
                match c {
                    '{' => out.push((Token::Open, line)),
                    '}' => out.push((Token::Close, line)),
                    '*' => out.push((Token::Star, line)),
                    c if !c.is_whitespace() => out.push((Token::Other(c), line)),
                    _ => {}
                }
                at + 1
            }
        };
        line += chars[at..end.min(chars.len())].iter().filter(|c| **c == '\n').count();
        at = end;
    }
    out
}

fn find(chars: &[char], from: usize, stop: impl Fn(&[char]) -> bool) -> usize {
    (from..chars.len()).find(|at| stop(&chars[*at..])).unwrap_or(chars.len())
}

fn word(chars: &[char], at: usize, line: usize, out: &mut Vec<(Token, usize)>) -> usize {
    let end = find(chars, at, |rest| !(rest[0].is_alphanumeric() || rest[0] == '_'));
    out.push((Token::Word(chars[at..end].iter().collect()), line));
    end
}

fn block_comment(chars: &[char], start: usize) -> usize {
    let (mut depth, mut at) = (0, start);
    while at < chars.len() {
        match &chars[at..(at + 2).min(chars.len())] {
            ['/', '*'] => (depth, at) = (depth + 1, at + 2),
            ['*', '/'] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The end of a string whose content begins at `at`.
fn string(chars: &[char], mut at: usize) -> usize {
    while let Some(&c) = chars.get(at) {
        match c {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The end of a raw string, `at` behind its `r`; `None` where it is a raw identifier.
fn raw_string(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at..].iter().take_while(|c| **c == '#').count();
    if chars.get(at + hashes) != Some(&'"') {
        return None;
    }
    let closes =
        |rest: &[char]| rest[0] == '"' && rest[1..].iter().take_while(|c| **c == '#').count() >= hashes;
    Some(find(chars, at + hashes + 1, closes) + 1 + hashes)
}

/// The end of a character such as `'x'` or `'\n'`; of the quote alone where it begins a lifetime.
fn character(chars: &[char], at: usize) -> usize {
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), _) => find(chars, at + 3, |rest| rest[0] == '\'') + 1,
        (Some(_), Some('\'')) => at + 3,
        _ => at + 1,
    }
}

//! Reads of one Rust source what names other modules: the modules that it declares, its imports, the paths in its code.

/// What one file says of modules.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Modules that `mod x;` declares.
    pub(super) declared: Vec<String>,
    /// Every import, one a name.
    pub(super) imports: Vec<Import>,
    /// Every other path of at least two parts.
    pub(super) paths: Vec<Used>,
}

/// A path of the code, its leading `crate`, `self` and `super` resolved where it has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) path: Place,
    pub(super) line: usize,
}

/// Where a path begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// At the root of the crate.
    Root(Vec<String>),
    /// At a name that is in scope here: a child module, an import, or another crate. The first is the module around it.
    Here(Vec<String>, Vec<String>),
}

/// One name that a `use` brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) used: Used,
    pub(super) name: String,
    /// Whether others may reach the name through this module: a `use` with `pub` before it, of whatever reach.
    pub(super) shared: bool,
    /// Whether it is an import of the file's own module, and not of a function or a module in braces.
    pub(super) outermost: bool,
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

/// Reads `text`, the file of the module `module`. What `#[cfg(test)]` stands before is left out.
pub(super) fn read(text: &str, module: &[String]) -> Source {
    let tokens = without_tests(&tokens(text));
    let mut source = Source::default();
    // Modules in braces that are open, by the depth of braces at which each began.
    let mut inline: Vec<(usize, String)> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while at < tokens.len() {
        let here =
            || module.iter().chain(inline.iter().map(|(_, name)| name)).cloned().collect::<Vec<String>>();
        match (&tokens[at].0, token(&tokens, at + 1), token(&tokens, at + 2)) {
            (Token::Word(word), Some(Token::Word(name)), Some(Token::Open)) if word == "mod" => {
                inline.push((depth, name.clone()));
                depth += 1;
                at += 3;
            }
            (Token::Word(word), Some(Token::Word(name)), Some(Token::Other(';'))) if word == "mod" => {
                if inline.is_empty() {
                    source.declared.push(name.clone());
                }
                at += 3;
            }
            // `use<'a>` of a bound is no import.
            (Token::Word(word), Some(next), _) if word == "use" && *next != Token::Other('<') => {
                let shared = at
                    .checked_sub(1)
                    .and_then(|before| token(&tokens, before))
                    .is_some_and(|before| matches!(before, Token::Word(_) | Token::Other(')')));
                let mut leaves = Vec::new();
                at = tree(&tokens, at + 1, &[], &mut leaves);
                for (path, name, line) in leaves {
                    let used = Used { path: place(path, here()), line };
                    source.imports.push(Import { used, name, shared, outermost: depth == 0 });
                }
            }
            (Token::Word(_), Some(Token::PathSep), _)
                if at.checked_sub(1).and_then(|before| token(&tokens, before)) != Some(&Token::PathSep) =>
            {
                let line = tokens[at].1;
                let mut path = Vec::new();
                while let Some(Token::Word(word)) = token(&tokens, at) {
                    path.push(word.clone());
                    at += 1;
                    if token(&tokens, at) != Some(&Token::PathSep) {
                        break;
                    }
                    at += 1;
                }
                source.paths.push(Used { path: place(path, here()), line });
            }
            (Token::Open, ..) => {
                depth += 1;
                at += 1;
            }
            (Token::Close, ..) => {
                depth = depth.saturating_sub(1);
                if inline.last().is_some_and(|(began, _)| *began == depth) {
                    inline.pop();
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    source
}

fn token(tokens: &[(Token, usize)], at: usize) -> Option<&Token> {
    tokens.get(at).map(|(token, _)| token)
}

/// Reads one branch of a `use`, `at` its beginning, into paths with the name and the line of each; gives the place behind it.
fn tree(
    tokens: &[(Token, usize)],
    mut at: usize,
    before: &[String],
    leaves: &mut Vec<(Vec<String>, String, usize)>,
) -> usize {
    let mut path = before.to_vec();
    while let Some((here, line)) = tokens.get(at) {
        match here {
            Token::PathSep => at += 1,
            Token::Open => {
                at += 1;
                while token(tokens, at).is_some_and(|next| *next != Token::Close) {
                    if token(tokens, at) == Some(&Token::Other(',')) {
                        at += 1;
                    } else {
                        let end = tree(tokens, at, &path, leaves);
                        at = end.max(at + 1);
                    }
                }
                return at + 1;
            }
            Token::Word(_) | Token::Star => {
                match here {
                    Token::Word(word) if word == "self" && !path.is_empty() => {}
                    Token::Word(word) => path.push(word.clone()),
                    _ => path.push("*".to_owned()),
                }
                at += 1;
                if token(tokens, at) == Some(&Token::PathSep) {
                    continue;
                }
                let mut name = path.last().cloned().unwrap_or_default();
                if let (Some(Token::Word(word)), Some(Token::Word(other))) =
                    (token(tokens, at), token(tokens, at + 1))
                    && word == "as"
                {
                    name.clone_from(other);
                    at += 2;
                }
                leaves.push((path, name, *line));
                return at;
            }
            _ => return at,
        }
    }
    at
}

/// Resolves leading `crate`, `self` and `super` of a path that stands in the module `here`.
fn place(mut path: Vec<String>, mut here: Vec<String>) -> Place {
    match path.first().map(String::as_str) {
        Some("crate") => {
            path.remove(0);
            Place::Root(path)
        }
        Some("self" | "super") => {
            if path[0] == "self" {
                path.remove(0);
            }
            let climbs = path.iter().take_while(|part| *part == "super").count();
            here.truncate(here.len().saturating_sub(climbs));
            here.extend(path.into_iter().skip(climbs));
            Place::Root(here)
        }
        _ => Place::Here(here, path),
    }
}

/// The tokens without the items that `#[cfg(test)]` stands before.
fn without_tests(tokens: &[(Token, usize)]) -> Vec<(Token, usize)> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if is_test(&tokens[at..]) {
            at = behind_item(tokens, at);
        } else {
            out.push(tokens[at].clone());
            at += 1;
        }
    }
    out
}

/// Whether this begins with `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_test(tokens: &[(Token, usize)]) -> bool {
    let word = |at: usize, text: &str| matches!(token(tokens, at), Some(Token::Word(word)) if word == text);
    let sign = |at: usize, sign: char| token(tokens, at) == Some(&Token::Other(sign));
    sign(0, '#')
        && sign(1, '[')
        && word(2, "cfg")
        && sign(3, '(')
        && (word(4, "test") && sign(5, ')') || word(4, "all") && sign(5, '(') && word(6, "test"))
}

/// The place behind the item whose first attribute begins at `at`.
fn behind_item(tokens: &[(Token, usize)], mut at: usize) -> usize {
    while token(tokens, at) == Some(&Token::Other('#')) {
        at = behind_group(tokens, at + 1);
    }
    let begins = |words: &[&str]| matches!(token(tokens, at), Some(Token::Word(word)) if words.contains(&word.as_str()));
    let item = begins(&[
        "pub",
        "fn",
        "mod",
        "impl",
        "struct",
        "enum",
        "const",
        "static",
        "use",
        "type",
        "trait",
        "unsafe",
        "async",
        "macro_rules",
        "extern",
    ]);
    let mut import = false;
    while let Some(here) = token(tokens, at) {
        match here {
            Token::Word(word) if word == "use" => import = true,
            Token::Other(';') => return at + 1,
            Token::Other(',') if !item => return at + 1,
            // The end of what the item stands in: a last field or arm without a comma.
            Token::Close | Token::Other(')' | ']') => return at,
            Token::Open if !import => return behind_group(tokens, at),
            Token::Open | Token::Other('(' | '[') => {
                at = behind_group(tokens, at);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// The place behind the bracket that opens at `at`.
fn behind_group(tokens: &[(Token, usize)], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(here) = token(tokens, at) {
        at += 1;
        match here {
            Token::Open | Token::Other('(' | '[') => depth += 1,
            Token::Close | Token::Other(')' | ']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    at
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
            'b' if next == Some('r') => match raw_string(&chars, at + 2) {
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

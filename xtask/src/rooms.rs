//! `cargo xtask rooms`: inside `crates/core`, data flows one way.
//!
//! Cargo keeps crates apart; nothing keeps modules of one crate apart but this. Every path of a source file that leaves
//! its room must follow an arrow of [`ROOMS`]. Modules named `tests` may use every room: they need a profile to begin with.

mod paths;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::{root, say};

/// A module of `crates/core` and what it may use.
struct Room {
    name: &'static str,
    /// Rooms and crates of ours.
    may_use: &'static [&'static str],
}

/// The arrows of the design. A room may use itself; what is not here is not allowed.
const ROOMS: &[Room] = &[
    Room { name: "naming", may_use: &[] },
    Room { name: "error", may_use: &["naming"] },
    Room { name: "units", may_use: &[] },
    Room { name: "packing", may_use: &[] },
    Room { name: "scope", may_use: &["error", "units"] },
    Room { name: "report", may_use: &["error", "packing", "scope", "units"] },
    Room { name: "profile", may_use: &["error", "packing", "units", "xspace", "hlo"] },
    Room {
        name: "load",
        may_use: &["error", "naming", "profile", "units", "xspace", "hlo", "riegeli", "cache_folder"],
    },
    // Of the report: notes, provenance and cells, since what is missing is seen here. Tables are made in `analyses`.
    Room {
        name: "derive",
        may_use: &["error", "naming", "profile", "report", "scope", "units", "xspace", "hlo"],
    },
    Room {
        name: "analyses",
        may_use: &["error", "naming", "derive", "profile", "report", "scope", "units", "hlo"],
    },
    // What runs said, kept over many runs: it asks the registry, as a door does, and opens no files.
    Room { name: "ledger", may_use: &["error", "analyses", "derive", "profile", "report", "scope", "units"] },
    Room { name: "export", may_use: &["error", "derive", "profile", "scope", "xspace"] },
    Room { name: "present", may_use: &["error", "report", "units"] },
];

/// The crates of ours that the rooms may name, by the name that the code uses.
const CRATES: &[(&str, &str)] = &[
    ("haloscope_xspace", "xspace"),
    ("haloscope_hlo", "hlo"),
    ("haloscope_riegeli", "riegeli"),
    ("haloscope_cache_folder", "cache_folder"),
];

pub(crate) fn run() -> Result<()> {
    let src = root().join("crates/core/src");
    let mut files = Vec::new();
    collect(&src, &mut files)?;
    files.sort_unstable();
    let mut wrong = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let relative = file.strip_prefix(&src)?;
        for problem in check(relative, &text)? {
            wrong.push(format!("crates/core/src/{}:{problem}", relative.display()));
        }
    }
    ensure!(!files.is_empty(), "{} holds no Rust file", src.display());
    if !wrong.is_empty() {
        bail!(
            "{} paths leave their room against the arrows of xtask/src/rooms.rs:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    }
    say(&format!("rooms: {} files of crates/core follow the arrows", files.len()));
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The paths of a file, named relative to `src`, that no arrow allows, as `line: why`.
fn check(file: &Path, text: &str) -> Result<Vec<String>> {
    let modules = paths::module_of(file);
    // The root may name every room: it declares them.
    let Some(room) = modules.first() else { return Ok(Vec::new()) };
    let Some(here) = ROOMS.iter().find(|r| r.name == room) else {
        bail!("crates/core/src/{}: the room `{room}` has no line in xtask/src/rooms.rs", file.display());
    };
    if modules.iter().any(|module| module == "tests") {
        return Ok(Vec::new());
    }
    let mut wrong = Vec::new();
    for used in paths::leaving(text, &modules) {
        let first = match used.path.first().map(String::as_str) {
            Some("crate") => used.path.get(1).map(String::as_str),
            Some(external) => match CRATES.iter().find(|(name, _)| *name == external) {
                Some((_, room)) => Some(*room),
                None => continue,
            },
            None => continue,
        };
        // `use crate::*` names every room at once.
        let first = first.unwrap_or("*");
        // `crate::Error` is an item of the root, and so are macros.
        let target = match first {
            "Error" => "error",
            "row" => "report",
            room => room,
        };
        if target != here.name && !here.may_use.contains(&target) {
            wrong.push(format!("{}: `{}` may not use `{}`", used.line, here.name, used.path.join("::")));
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(file: &str, text: &str) -> Vec<String> {
        check(Path::new(file), text).unwrap()
    }

    #[test]
    fn arrows_are_followed() {
        assert_eq!(
            problems("load/open.rs", "use crate::profile::Profile;\nuse haloscope_xspace::SpaceView;"),
            [""; 0]
        );
        assert_eq!(problems("lib.rs", "pub use crate::analyses::x;"), [""; 0]);
        assert_eq!(
            problems("present/table.rs", "use crate::{Error, report::{Report, Table}, units};"),
            [""; 0]
        );
        assert_eq!(problems("profile.rs", "use crate::profile::line::Line; use std::fmt;"), [""; 0]);
        assert_eq!(problems("derive/steps.rs", "use crate::report::Notes;"), [""; 0]);
    }

    #[test]
    fn wrong_arrows_are_told_with_their_line() {
        assert_eq!(
            problems("profile/line.rs", "use std::fmt;\nfn f() -> crate::report::Report { todo() }"),
            ["2: `profile` may not use `crate::report::Report`"]
        );
        assert_eq!(
            problems("present/csv.rs", "use crate::{\n    report::Report,\n    profile::{Line, Plane},\n};"),
            [
                "3: `present` may not use `crate::profile::Line`",
                "3: `present` may not use `crate::profile::Plane`"
            ]
        );
        assert_eq!(
            problems("present/csv.rs", "let x = haloscope_hlo::Module::decode(b);"),
            ["1: `present` may not use `haloscope_hlo::Module::decode`"]
        );
        assert_eq!(
            problems("derive/busy.rs", "use crate::analyses::ops;"),
            ["1: `derive` may not use `crate::analyses::ops`"]
        );
        assert_eq!(problems("units.rs", "use crate::*;"), ["1: `units` may not use `crate::*`"]);
    }

    #[test]
    fn super_reaches_other_rooms_too() {
        let text = "use super::super::load::open;";
        assert_eq!(problems("profile/line.rs", text), ["1: `profile` may not use `crate::load::open`"]);
        assert_eq!(problems("profile/a/b.rs", text), [""; 0]);
        let inside = "mod rows {\n    use super::super::super::load;\n    use super::super::line;\n}\nuse super::super::load;";
        assert_eq!(
            problems("profile/line.rs", inside),
            ["2: `profile` may not use `crate::load`", "5: `profile` may not use `crate::load`"]
        );
    }

    #[test]
    fn tests_may_use_every_room() {
        let text =
            "mod tests {\n    mod deep { use crate::load; }\n    use crate::present;\n}\nuse crate::present;";
        assert_eq!(problems("units.rs", text), ["5: `units` may not use `crate::present`"]);
        assert_eq!(problems("derive/timeline/tests.rs", "use crate::load;"), [""; 0]);
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        let text = "// crate::load\n/* crate::load /* nested */ */ let x = \"crate::load \\\" crate::load\"; let c = '\"';\n\
            let r = r#\"crate::load \" \"#; /// [`crate::load`]\nfn f<'a>(x: &'a str) -> crate::load::X {}";
        assert_eq!(problems("units.rs", text), ["4: `units` may not use `crate::load::X`"]);
    }

    #[test]
    fn a_room_without_a_line_is_an_error() {
        let error = check(Path::new("cache/mod.rs"), "").unwrap_err();
        assert!(error.to_string().contains("the room `cache` has no line"), "{error}");
    }

    #[test]
    fn the_arrows_have_no_cycle() {
        // Peel off rooms that use only rooms already peeled off; what is left would be a cycle.
        let mut done = vec!["xspace", "hlo"];
        while let Some(next) =
            ROOMS.iter().find(|r| !done.contains(&r.name) && r.may_use.iter().all(|may| done.contains(may)))
        {
            done.push(next.name);
        }
        assert_eq!(done.len(), ROOMS.len() + 2);
    }
}

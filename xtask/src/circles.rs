//! `cargo xtask circles`: no circle of modules inside any crate.
//!
//! Cargo keeps crates apart; nothing keeps the modules of one crate apart but this. For every crate below `crates/` it reads
//! which file uses which, and refuses each set of files where every one leads to every other (a strongly connected component
//! of more than one file). What counts:
//!
//! - A node is a file that the crate's root reaches over `mod x;`. A module in braces belongs to its file. What
//!   `#[cfg(test)]` stands before does not count, nor do the files that it declares: tests may use everything. Comments and
//!   strings are not code.
//! - An edge is a path: an import's, or one in the code, which begins with `crate`, `super`, `self`, a child module or an
//!   imported name. It leads to the file that owns what the path names. An import of a module leads nowhere by itself;
//!   what the code then names through it does.
//! - A module's face is looked through: where it re-exports what stands in modules below it, the edge leads to these. A
//!   module that re-exports what stands elsewhere is no face: the edge leads to it, so import from where a thing is defined.
//! - A module that declares or re-exports a module below it does not use it: it only names it.
//! - A module's use of what the files of its own ancestors define is no edge. It stands inside of them: a module file and
//!   the parts that it is split into are read together. What an ancestor only imports is looked through.
//! - Methods and fields that no path names are not seen.
//!
//! It refuses a crate, too, that has become larger than one can know: more than [`LARGEST`] lines, those of tests not counted.

mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use self::paths::{Place, Source};
use crate::{root, say};

/// A circle that stands for a reason, by its crate and all its modules in order.
struct Known {
    krate: &'static str,
    modules: &'static [&'static str],
    /// Why it stands.
    why: &'static str,
}

/// Circles that are not refused. One that is dissolved, or has other modules by now, must leave this list.
const KNOWN: &[Known] = &[];

/// A crate of more lines than this, comments counted and tests not, is two.
const LARGEST: usize = 17_500;

pub(crate) fn run() -> Result<()> {
    let crates = root().join("crates");
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(&crates).with_context(|| format!("cannot read {}", crates.display()))? {
        let entry = entry?;
        if entry.path().join("src").is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    ensure!(!names.is_empty(), "{} holds no crate", crates.display());
    let (mut found, mut files, mut large) = (Vec::new(), 0, Vec::new());
    for name in &names {
        let source = crates.join(name).join("src");
        let graph = Graph::read(&source)?;
        let mut lines = 0;
        for module in graph.modules.values() {
            lines += lines_of(&fs::read_to_string(source.join(&module.file))?);
        }
        if lines > LARGEST {
            large.push(format!("crates/{name} has {lines} lines without its tests; {LARGEST} are the most"));
        }
        files += graph.modules.len();
        found.extend(graph.circles().into_iter().map(|circle| (name.as_str(), circle)));
    }
    let wrong = judge(&found, KNOWN);
    ensure!(wrong.is_empty(), "circles of modules:\n{}", wrong.join("\n"));
    ensure!(large.is_empty(), "{}", large.join("\n"));
    say(&format!("circles: {} files of {} crates, {} circles, all known", files, names.len(), found.len()));
    for known in KNOWN {
        say(&format!("  {}: {}: {}", known.krate, known.modules.join(", "), known.why));
    }
    Ok(())
}

/// Lines of a file before its tests.
fn lines_of(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let is_tests = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ");
    lines.windows(2).position(is_tests).unwrap_or(lines.len())
}

/// What is wrong with the circles that were found, each with its crate: those that are not known, and known ones that are none.
fn judge(found: &[(&str, Circle)], known: &[Known]) -> Vec<String> {
    let same =
        |k: &Known, krate: &str, circle: &Circle| k.krate == krate && circle.modules.iter().eq(k.modules);
    let mut wrong = Vec::new();
    for (krate, circle) in found {
        if !known.iter().any(|k| same(k, krate, circle)) {
            wrong.push(format!(
                "crates/{krate}: {}\n  {}",
                circle.modules.join(", "),
                circle.edges.join("\n  ")
            ));
        }
    }
    for k in known {
        if !found.iter().any(|(krate, circle)| same(k, krate, circle)) {
            wrong.push(format!(
                "crates/{}: {} is no circle by now: take it out of xtask/src/circles.rs",
                k.krate,
                k.modules.join(", ")
            ));
        }
    }
    wrong
}

/// Modules that each lead to every other.
struct Circle {
    /// Their names from the root, in order.
    modules: Vec<String>,
    /// What leads from one to another, a line each.
    edges: Vec<String>,
}

struct Module {
    name: Vec<String>,
    /// Relative to `src`.
    file: String,
    source: Source,
}

/// The modules of one crate, by their path from the root. The root's is empty.
#[derive(Default)]
struct Graph {
    modules: BTreeMap<Vec<String>, Module>,
}

impl Graph {
    /// Reads the crate whose sources stand in `src`, from `lib.rs`, or from `main.rs` where it is a program alone.
    fn read(src: &Path) -> Result<Graph> {
        let mut graph = Graph::default();
        let entry = if src.join("lib.rs").is_file() { "lib.rs" } else { "main.rs" };
        graph.add(src, Path::new(entry), Vec::new())?;
        Ok(graph)
    }

    fn add(&mut self, src: &Path, file: &Path, name: Vec<String>) -> Result<()> {
        let path = src.join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let source = paths::read(&text, &name);
        for child in source.declared.clone() {
            let folder: PathBuf = name.iter().collect();
            let mut below = name.clone();
            below.push(child.clone());
            let flat = folder.join(format!("{child}.rs"));
            let file = if src.join(&flat).is_file() { flat } else { folder.join(child).join("mod.rs") };
            self.add(src, &file, below)?;
        }
        self.put(&file.to_string_lossy(), name, source);
        Ok(())
    }

    fn put(&mut self, file: &str, name: Vec<String>, source: Source) {
        self.modules.insert(name.clone(), Module { name, file: file.to_owned(), source });
    }

    /// Every edge from `from`: the module that it leads to, and what it is.
    fn edges(&self, from: &Module) -> BTreeMap<&Vec<String>, String> {
        let imports = from.source.imports.iter().map(|i| (&i.used, i.shared && i.outermost));
        let paths = from.source.paths.iter().map(|used| (used, false));
        let mut out = BTreeMap::new();
        for (used, shared) in imports.chain(paths) {
            for path in self.absolute(from, &used.path) {
                let Some((to, named)) = self.owner(&from.name, &path, 0) else { continue };
                // The module itself, not something of it.
                if !named || from.name.starts_with(&to.name) || shared && to.name.starts_with(&from.name) {
                    continue;
                }
                out.entry(&to.name).or_insert_with(|| {
                    format!("{} -> {} ({}:{})", shown(&from.name), shown(&to.name), from.file, used.line)
                });
            }
        }
        out
    }

    /// The paths from the root that a path in `module` may mean; none where it leads to another crate.
    fn absolute(&self, module: &Module, path: &Place) -> Vec<Vec<String>> {
        match path {
            Place::Root(path) => vec![path.clone()],
            Place::Here(here, path) => {
                let Some((first, rest)) = path.split_first() else { return Vec::new() };
                let child: Vec<String> = here.iter().chain([first]).cloned().collect();
                if self.modules.contains_key(&child) {
                    return vec![child.iter().chain(rest).cloned().collect()];
                }
                // An import of this file: one of the same name in each of two functions counts as both.
                let imports = module.source.imports.iter().filter(|i| i.name == *first);
                imports
                    .filter_map(|i| match &i.used.path {
                        Place::Root(to) => Some(to.iter().chain(rest).cloned().collect()),
                        Place::Here(here, to) => {
                            let child: Vec<String> = here.iter().chain(to).chain(rest).cloned().collect();
                            self.modules.contains_key(&child[..=here.len()]).then_some(child)
                        }
                    })
                    .collect()
            }
        }
    }

    /// The module that owns what `path` names, seen from the module `from`, and whether it names something of it rather
    /// than the module.
    fn owner(&self, from: &[String], path: &[String], follows: usize) -> Option<(&Module, bool)> {
        let known = (0..=path.len()).rev().find(|len| self.modules.contains_key(&path[..*len]))?;
        let module = self.modules.get(&path[..known])?;
        let Some((item, rest)) = path[known..].split_first() else { return Some((module, false)) };
        let inside = from.starts_with(&module.name);
        // A circle of re-exports does not compile, but a name that is a type here and a function there may look as one.
        if follows < 16
            && let Some(import) =
                module.source.imports.iter().find(|i| i.outermost && i.name == *item && (i.shared || inside))
        {
            // What another crate holds stays with the importer.
            let next = self.absolute_import(&import.used.path, rest);
            let behind = next.and_then(|next| self.owner(from, &next, follows + 1));
            return match behind {
                Some((to, named)) if inside || to.name.starts_with(&module.name) => Some((to, named)),
                _ => Some((module, true)),
            };
        }
        Some((module, true))
    }

    /// The path of an import with `rest` behind it, from the root; `None` where another crate holds it.
    fn absolute_import(&self, path: &Place, rest: &[String]) -> Option<Vec<String>> {
        match path {
            Place::Root(path) => Some(path.iter().chain(rest).cloned().collect()),
            Place::Here(here, path) => {
                let whole: Vec<String> = here.iter().chain(path).chain(rest).cloned().collect();
                self.modules.contains_key(&whole[..=here.len()]).then_some(whole)
            }
        }
    }

    /// The circles, in the order of their first modules.
    fn circles(&self) -> Vec<Circle> {
        let edges: BTreeMap<&Vec<String>, BTreeMap<&Vec<String>, String>> =
            self.modules.values().map(|module| (&module.name, self.edges(module))).collect();
        // A few hundred modules a crate: what each reaches is quick enough, and plain.
        let reach: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> = edges
            .keys()
            .map(|from| {
                let (mut seen, mut open) = (BTreeSet::new(), vec![*from]);
                while let Some(next) = open.pop() {
                    open.extend(edges[next].keys().copied().filter(|to| seen.insert(*to)));
                }
                (*from, seen)
            })
            .collect();
        let mut done = BTreeSet::new();
        let mut out = Vec::new();
        for from in edges.keys() {
            if !reach[from].contains(from) || done.contains(from) {
                continue;
            }
            let circle: BTreeSet<&Vec<String>> =
                reach[from].iter().copied().filter(|to| reach[to].contains(from)).collect();
            let inner = circle.iter().flat_map(|from| {
                edges[from].iter().filter(|(to, _)| circle.contains(*to)).map(|(_, edge)| edge.clone())
            });
            out.push(Circle {
                modules: circle.iter().map(|name| shown(name)).collect(),
                edges: inner.collect(),
            });
            done.extend(circle);
        }
        out
    }
}

fn shown(name: &[String]) -> String {
    if name.is_empty() { "crate".to_owned() } else { name.join("::") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate of these files.
    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let graph = Graph::read(folder.path()).unwrap();
        graph.circles().iter().map(|circle| circle.modules.join(" ")).collect()
    }

    #[test]
    fn no_crate_has_a_new_circle() {
        run().unwrap();
    }

    #[test]
    fn tests_do_not_make_a_file_longer() {
        assert_eq!(lines_of("fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n"), 2);
        assert_eq!(lines_of("fn a() {}\n#[cfg(test)]\nfn b() {}\n"), 3);
    }

    #[test]
    fn two_that_use_each_other_are_a_circle() {
        let root = ("lib.rs", "mod a; mod b; mod c;");
        assert_eq!(
            circles(&[
                root,
                ("a.rs", "use crate::b::f;"),
                ("b.rs", "fn f() { super::a::g() }"),
                ("c.rs", "use crate::{a, b};\nfn f() { a::x(); b::x::<u8>() }"),
            ]),
            ["a b"]
        );
        assert_eq!(
            circles(&[
                root,
                ("a.rs", "use crate::{c::{self, X as Y}};"),
                ("b.rs", "use crate::a; fn f() -> Vec<a::T> {}"),
                ("c.rs", "fn x() { use super::b as other; other::f() }"),
            ]),
            ["a b c"]
        );
        // An import of a module that nothing is named through is no use of it.
        assert_eq!(
            circles(&[root, ("a.rs", "use crate::b;"), ("b.rs", "use crate::a::X;"), ("c.rs", "")]),
            [""; 0]
        );
    }

    #[test]
    fn the_edges_are_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("lib.rs"), "mod a; mod b;").unwrap();
        fs::write(folder.path().join("a.rs"), "\nuse crate::b::f;").unwrap();
        fs::write(folder.path().join("b.rs"), "use crate::a::g;").unwrap();
        let found = Graph::read(folder.path()).unwrap().circles().pop().unwrap();
        assert_eq!(found.edges, ["a -> b (a.rs:2)", "b -> a (b.rs:1)"]);
        let found = [("made", found)];
        assert_eq!(judge(&found, &[]).len(), 1);
        let known = |modules| Known { krate: "made", modules, why: "" };
        assert_eq!(judge(&found, &[known(&["a", "b"])]), [""; 0]);
        // A circle that grew is new, and the old one is gone.
        assert_eq!(judge(&found, &[known(&["a"])]).len(), 2);
        assert_eq!(
            judge(&[], &[known(&["a", "b"])]),
            ["crates/made: a, b is no circle by now: take it out of xtask/src/circles.rs"]
        );
    }

    #[test]
    fn a_module_and_its_parts() {
        let root = ("lib.rs", "pub mod a; mod b; pub use a::part::X;");
        // The module file uses its part, the part what the module file defines.
        let part = ("a/part.rs", "use super::T; pub struct X(crate::a::T);");
        assert_eq!(
            circles(&[
                root,
                ("a.rs", "mod part; pub use part::X; fn f() { part::x() } pub struct T;"),
                part,
                ("b.rs", "")
            ]),
            [""; 0]
        );
        // The face of `a` is looked through: `b` uses the part, which uses nothing.
        let face = ("a/mod.rs", "mod part; pub(crate) use part::X; use crate::b::y;");
        assert_eq!(circles(&[root, face, ("a/part.rs", ""), ("b.rs", "use crate::a::X;")]), [""; 0]);
        assert_eq!(
            circles(&[
                root,
                face,
                ("a/part.rs", "use crate::b;\nfn f() { b::z }"),
                ("b.rs", "use crate::X;")
            ]),
            ["a::part b"]
        );
        // What the part's ancestor imports is looked through: the part uses `b`.
        assert_eq!(
            circles(&[
                root,
                ("a.rs", "mod part; use crate::b::Y;"),
                ("a/part.rs", "use super::Y;"),
                ("b.rs", "use crate::a::part::X;")
            ]),
            ["a::part b"]
        );
        // A use of a part by its module file is one where it leads on.
        assert_eq!(
            circles(&[
                root,
                ("a.rs", "mod part; use part::X;"),
                ("a/part.rs", "use crate::b::Y;"),
                ("b.rs", "use crate::a::Z;")
            ]),
            ["a a::part b"]
        );
    }

    #[test]
    fn what_stands_elsewhere_is_not_looked_through() {
        let files = |import| {
            circles(&[
                ("lib.rs", "mod a; mod b; mod c;"),
                ("a.rs", "pub use crate::c::walk; use crate::b::f;"),
                ("b.rs", import),
                ("c.rs", ""),
            ])
        };
        assert_eq!(files("use crate::a::walk;"), ["a b"]);
        assert_eq!(files("use crate::c::walk;"), [""; 0]);
    }

    #[test]
    fn tests_comments_and_strings_do_not_count() {
        let a = |text| {
            circles(&[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", text),
                ("a/tests.rs", "use crate::b::x;"),
                ("b.rs", "use crate::a::x;"),
            ])
        };
        assert_eq!(a("#[cfg(test)]\nmod tests;"), [""; 0]);
        assert_eq!(a("#[cfg(test)]\n#[path = \"x.rs\"]\nmod other { use crate::b::x; }"), [""; 0]);
        assert_eq!(
            a("#[cfg(test)] use crate::b::{x, y};\n#[cfg(test)] fn f(a: [u8; 2], b: u8) { crate::b::x() }"),
            [""; 0]
        );
        assert_eq!(a("struct S { #[cfg(test)] x: crate::b::X }"), [""; 0]);
        assert_eq!(
            a(
                "// crate::b::x\n/* crate::b::x /* nested */ */ /// [`crate::b::x`]\nlet x = \"crate::b::x \\\" crate::b::x\"; \
               let c = '\"'; let r = r#\"crate::b::x \" \"#; let b = br#\"crate::b::x\"#;"
            ),
            [""; 0]
        );
        assert_eq!(
            a("#[cfg(test)] mod t { }\nfn f<'a>(x: &'a str) -> impl Sized + use<'a> { crate::b::x }"),
            ["a b"]
        );
        assert_eq!(a("mod rows { use super::super::b::x; }"), ["a b"]);
        assert_eq!(a("mod rows { use super::b::x; }"), [""; 0]);
    }
}

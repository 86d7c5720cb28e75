//! What runs are called where several stand side by side.

use std::path::Path;

use haloscope_profile::Profile;

/// Parts of a path that every profiler writes and that tell nothing.
const EMPTY_WORDS: &[&str] = &["plugins", "profile", ".", ""];
/// Endings of profiles, longest first.
const ENDINGS: &[&str] =
    &[".xplane.pb.gz", ".xplane.pb", ".xplane.riegeli", ".trace.json.gz", ".trace.json", ".pb", ".txt"];

/// A label for each run: the shortest part of its path that tells it from all the others, from the end: the session or the
/// log folder's name, with what stands above it where that is not enough. Runs with the same path are numbered.
#[must_use]
pub fn labels(runs: &[&Profile]) -> Vec<String> {
    let paths: Vec<Vec<String>> = runs.iter().map(|run| parts(run)).collect();
    of_parts(&paths)
}

/// The telling parts of a run's path: folders down to the session, or the file's name where it is a file of its own.
fn parts(run: &Profile) -> Vec<String> {
    let Some(source) = run.sources.first() else { return Vec::new() };
    // A folder holds the files of all hosts of a session. One file alone in `plugins/profile` is called like its session too.
    let mut parts = words(&source.path);
    let file = parts.pop().unwrap_or_default();
    let in_session = source.path.components().any(|c| c.as_os_str() == "plugins");
    if run.sources.len() == 1 && !in_session {
        parts.push(ENDINGS.iter().find_map(|end| file.strip_suffix(end)).unwrap_or(&file).to_owned());
    }
    parts
}

fn words(path: &Path) -> Vec<String> {
    let words = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    words.filter(|word| !EMPTY_WORDS.contains(&word.as_str()) && word != "/").collect()
}

fn of_parts(paths: &[Vec<String>]) -> Vec<String> {
    let tail = |path: &[String], n: usize| path[path.len().saturating_sub(n)..].join("/");
    let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
    // Where log folders are named and sessions only dated, the folder tells more: the last part in which all differ.
    let differ = |at: usize| {
        let words: Vec<_> = paths.iter().map(|p| p.len().checked_sub(at).and_then(|i| p.get(i))).collect();
        let all_there = words.iter().all(Option::is_some);
        all_there && (1..words.len()).all(|i| !words[..i].contains(&words[i]))
    };
    let is_date = |at: usize| {
        paths.iter().all(|p| p.len().checked_sub(at).and_then(|i| p.get(i)).is_some_and(|word| is_date(word)))
    };
    if paths.len() > 1
        && let Some(at) =
            (1..=longest).find(|at| differ(*at) && !is_date(*at)).or((1..=longest).find(|at| differ(*at)))
    {
        return paths.iter().map(|p| p[p.len() - at].clone()).collect();
    }
    let mut labels: Vec<String> = Vec::with_capacity(paths.len());
    for (i, path) in paths.iter().enumerate() {
        let is_alone = |n: &usize| {
            let own = tail(path, *n);
            paths.iter().enumerate().all(|(j, other)| i == j || tail(other, *n) != own)
        };
        let label = (1..=path.len()).find(is_alone).map_or_else(|| tail(path, 1), |n| tail(path, n));
        labels.push(if label.is_empty() { "run".to_owned() } else { label });
    }
    for i in (1..labels.len()).rev() {
        let before = labels[..i].iter().filter(|label| **label == labels[i]).count();
        if before > 0 {
            labels[i] = format!("{} ({})", labels[i], before + 1);
        }
    }
    labels
}

/// Sessions are called by their time: `2026_11_22_10_45_10`.
fn is_date(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits >= 8 && word.chars().all(|c| c.is_ascii_digit() || "_-:.T".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&str]) -> Vec<String> {
        of_parts(&paths.iter().map(|path| words(Path::new(path))).collect::<Vec<_>>())
    }

    #[test]
    fn the_shortest_part_that_tells() {
        assert_eq!(
            of(&[
                "logs/before/plugins/profile/2026_11_22_10_00_00",
                "logs/after/plugins/profile/2026_11_22_11_00_00"
            ]),
            ["before", "after"]
        );
        assert_eq!(
            of(&["logs/plugins/profile/2026_11_22_10_00_00", "logs/plugins/profile/2026_11_22_11_00_00"]),
            ["2026_11_22_10_00_00", "2026_11_22_11_00_00"]
        );
        assert_eq!(of(&["a/x", "b/x"]), ["a", "b"]);
        assert_eq!(of(&["a/x", "a/y", "b/x"]), ["a/x", "y", "b/x"]);
        assert_eq!(of(&["runs/dense", "runs/dense"]), ["dense", "dense (2)"]);
        assert_eq!(of(&["runs/dense"]), ["dense"]);
        assert_eq!(of(&["", ""]), ["run", "run (2)"]);
    }
}

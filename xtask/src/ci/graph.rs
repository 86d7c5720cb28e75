//! What comes before what: whether the stages of a table fit together, which ones an asked one needs, and the longest chain.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail, ensure};

use super::stages::Stage;

/// Fails unless every name stands once, every stage that is needed is there, and none needs itself by way of others.
pub(super) fn check(stages: &[Stage]) -> Result<()> {
    let mut names = BTreeSet::new();
    for stage in stages {
        ensure!(names.insert(stage.name), "the stage `{}` stands twice", stage.name);
    }
    for stage in stages {
        for need in stage.needs {
            ensure!(names.contains(need), "the stage `{}` needs `{need}`, which there is not", stage.name);
        }
    }
    let mut done = BTreeSet::new();
    while done.len() < stages.len() {
        let before = done.len();
        for stage in stages {
            if stage.needs.iter().all(|need| done.contains(need)) {
                done.insert(stage.name);
            }
        }
        if done.len() == before {
            let left: Vec<&str> = names.difference(&done).copied().collect();
            bail!("stages that wait for each other: {}", left.join(", "));
        }
    }
    Ok(())
}

/// The stage of this name and all that it needs, in the order of the table.
///
/// # Errors
/// If there is no stage of this name.
pub(super) fn with_needs(stages: Vec<Stage>, name: &str) -> Result<Vec<Stage>> {
    let mut wanted = BTreeSet::new();
    let mut open = vec![name];
    while let Some(next) = open.pop() {
        let Some(stage) = stages.iter().find(|stage| stage.name == next) else {
            let names: Vec<&str> = stages.iter().map(|stage| stage.name).collect();
            bail!("no stage {next}; there are {}", names.join(", "));
        };
        if wanted.insert(stage.name) {
            open.extend(stage.needs);
        }
    }
    Ok(stages.into_iter().filter(|stage| wanted.contains(stage.name)).collect())
}

/// By stage, how many seconds lie between its start and the end of the last that waits for it, its own included.
pub(super) fn seconds_to_the_end(
    stages: &[Stage],
    seconds: impl Fn(&Stage) -> f64,
) -> BTreeMap<&'static str, f64> {
    let mut known = BTreeMap::new();
    // A table that was checked has no circle, so that every round settles one stage at least.
    for _ in stages {
        for stage in stages {
            let after = stages.iter().filter(|other| other.needs.contains(&stage.name));
            let longest =
                after.map(|other| known.get(other.name).copied().unwrap_or(0.0)).fold(0.0, f64::max);
            known.insert(stage.name, longest + seconds(stage));
        }
    }
    known
}

/// The chain of stages, each needing the one before, that takes longest; and its seconds.
pub(super) fn critical_path(stages: &[Stage], seconds: impl Fn(&Stage) -> f64) -> (Vec<&'static str>, f64) {
    let to_the_end = seconds_to_the_end(stages, &seconds);
    let ahead = |stage: &Stage| to_the_end.get(stage.name).copied().unwrap_or(0.0);
    let longest = |among: Vec<&'_ Stage>| -> Option<&'static str> {
        among.into_iter().max_by(|a, b| ahead(a).total_cmp(&ahead(b))).map(|stage| stage.name)
    };
    let mut chain = Vec::new();
    let mut next = longest(stages.iter().collect());
    let total = next.and_then(|name| to_the_end.get(name).copied()).unwrap_or(0.0);
    while let Some(name) = next {
        chain.push(name);
        next = longest(stages.iter().filter(|stage| stage.needs.contains(&name)).collect());
    }
    (chain, total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::stages::tests::stage;

    #[test]
    fn what_does_not_fit_together_is_told() {
        let said = |stages: &[Stage]| check(stages).unwrap_err().to_string();
        assert_eq!(said(&[stage("a", &[]), stage("a", &[])]), "the stage `a` stands twice");
        assert_eq!(said(&[stage("a", &["b"])]), "the stage `a` needs `b`, which there is not");
        assert_eq!(
            said(&[stage("a", &["c"]), stage("b", &["a"]), stage("c", &["b"]), stage("d", &[])]),
            "stages that wait for each other: a, b, c"
        );
        assert_eq!(said(&[stage("a", &["a"])]), "stages that wait for each other: a");
        check(&[stage("b", &["a"]), stage("a", &[])]).unwrap();
    }

    #[test]
    fn one_stage_is_asked_for_with_what_it_needs() {
        let all = || vec![stage("a", &[]), stage("b", &["a"]), stage("c", &["b"]), stage("d", &["a"])];
        let names = |name: &str| -> Vec<&str> {
            with_needs(all(), name).unwrap().iter().map(|stage| stage.name).collect()
        };
        assert_eq!(names("c"), ["a", "b", "c"]);
        assert_eq!(names("a"), ["a"]);
        let said = with_needs(all(), "x").unwrap_err().to_string();
        assert_eq!(said, "no stage x; there are a, b, c, d");
    }

    #[test]
    fn the_longest_chain_is_the_critical_path() {
        let stages =
            [stage("a", &[]), stage("b", &["a"]), stage("c", &[]), stage("d", &["b", "c"]), stage("e", &[])];
        let seconds = |stage: &Stage| match stage.name {
            "c" => 5.0,
            "e" => 6.5,
            _ => 1.0,
        };
        assert_eq!(seconds_to_the_end(&stages, seconds)["a"], 3.0);
        assert_eq!(critical_path(&stages, seconds), (vec!["e"], 6.5));
        let seconds = |stage: &Stage| if stage.name == "c" { 5.0 } else { 1.0 };
        assert_eq!(critical_path(&stages, seconds), (vec!["c", "d"], 6.0));
        assert_eq!(critical_path(&[], seconds), (vec![], 0.0));
    }
}

//! Parts of hosts, put together, answer as the whole run does: to the digit, or not at all.

use std::path::PathBuf;

use haloscope_analyses::{self as analyses, part};
use haloscope_profile::{Profile, load};
use haloscope_report::scope::Scope;
use haloscope_report::{Error, Report};
use haloscope_time::analysis::{self, Params};

use crate::support;

/// The parts of a run, each made of its host's file alone, as bytes by host.
fn parts(files: &[PathBuf], questions: &[&str]) -> Vec<(String, Vec<u8>)> {
    let one = |file: &PathBuf| {
        let profile = load::open(&load::find(file).unwrap()).unwrap();
        part::of(&profile, questions).unwrap().into_iter().map(|part| (part.about.host, part.bytes))
    };
    files.iter().flat_map(one).collect()
}

fn ask(profile: &Profile, id: &str, scope: &Scope) -> Result<Report, Error> {
    let mut report = analysis::run(analyses::find(id).unwrap(), profile, scope, &Params::default())?;
    // What was read: files of other names and sizes.
    report.provenance.files.clear();
    Ok(report)
}

fn together(parts: &[(String, Vec<u8>)]) -> Profile {
    let named = parts.iter().map(|(host, bytes)| (format!("{host}.xplane.pb"), bytes.clone()));
    load::from_bytes_of_hosts(named.collect()).unwrap()
}

/// How many answers of a run are the same from parts made for these questions; none may differ.
fn same(files: &[PathBuf], questions: &[&str], scope: &Scope, what: &str) -> usize {
    let run = load::Run { files: files.to_vec(), ..load::find(&files[0]).unwrap() };
    let whole = load::open(&run).unwrap();
    let parts = parts(files, questions);
    assert_eq!(parts.len(), whole.sources.len());
    let merged = together(&parts);
    let mut count = 0;
    for id in questions {
        match (ask(&whole, id, scope), ask(&merged, id, scope)) {
            (Ok(whole), Ok(merged)) => {
                assert_eq!(whole.to_json(), merged.to_json(), "{what}: {id}");
                count += 1;
            }
            (Err(whole), Err(merged)) => assert_eq!(whole.to_string(), merged.to_string(), "{what}: {id}"),
            (whole, merged) => panic!("{what}: {id}: {:?} and {:?}", whole.err(), merged.err()),
        }
    }
    count
}

fn files(name: &str) -> Vec<PathBuf> {
    load::find(&support::run_folder(name)).unwrap().files
}

#[test]
fn usual_questions_have_the_same_answers_from_parts() {
    for name in ["tpu-train", "tpu-run-scan"] {
        let all = same(&files(name), part::USUAL, &Scope::default(), name);
        assert!(all >= part::USUAL.len() - 1, "{name}: only {all}");
    }
    for name in ["tpu-input-bound", "gpu-train", "cpu-train", "tpu-decode"] {
        assert!(same(&files(name), part::USUAL, &Scope::default(), name) > 3, "{name}");
    }
}

#[test]
fn a_scope_is_one_of_the_merged_run() {
    for words in [("steps", "2-3"), ("steady", "1"), ("window", "1ms..3ms"), ("hosts", "tpu-w-1")] {
        let same = same(&files("tpu-train"), part::USUAL, &support::scope(&[words]), words.0);
        assert!(same > 1, "{words:?}: only {same}");
    }
}

#[test]
fn so_do_forged_runs_of_many_hosts() {
    for name in ["straggler_v6e32", "dense_train_v5e16"] {
        let Some(folder) = support::traces(&format!("forged/{name}")) else { continue };
        let files = load::find(&folder).unwrap().files;
        assert!(files.len() > 3);
        let same = same(&files, part::USUAL, &Scope::default(), name);
        assert_eq!(same, part::USUAL.len(), "{name}");
    }
}

#[test]
fn every_question_has_the_same_answer_or_is_refused() {
    let files = files("tpu-train");
    let whole = load::open(&load::find(&support::run_folder("tpu-train")).unwrap()).unwrap();
    let merged = together(&parts(&files, &["ops"]));
    let (mut same, mut refused) = (0, 0);
    for id in part::all() {
        match (ask(&whole, id, &Scope::default()), ask(&merged, id, &Scope::default())) {
            (Ok(whole), Ok(merged)) => {
                assert_eq!(whole.to_json(), merged.to_json(), "{id}");
                same += 1;
            }
            (_, Err(Error::Input { message, .. })) => {
                assert!(message.contains("a part of a profile"), "{id}: {message}");
                refused += 1;
            }
            (Err(whole), Err(merged)) => assert_eq!(whole.to_string(), merged.to_string(), "{id}"),
            (whole, merged) => panic!("{id}: {:?} and {:?}", whole.err(), merged.err()),
        }
    }
    assert!(same > 10, "only {same}, and {refused} refused");
}

/// A run whose host threads record much that `ops` does not read.
#[test]
fn lines_that_no_question_reads_are_not_in_a_part() {
    let file = &files("tpu-input-bound")[0];
    let profile = load::open(&load::find(file).unwrap()).unwrap();
    let of_ops = part::of(&profile, &["ops"]).unwrap().remove(0);
    let about = &of_ops.about;
    assert!(about.lines.1 < about.lines.0 && about.events.1 < about.events.0, "{about:?}");
    assert!(about.part_bytes == of_ops.bytes.len() as u64 && about.part_bytes < about.whole_bytes);
    // What is not in it is refused, and asking does no harm to what is.
    let part = load::from_bytes("tpu-host.xplane.pb", of_ops.bytes).unwrap();
    assert!(part.is_part(0) && !profile.is_part(0));
    let lacking = part.lines.iter().find(|line| line.is_left_out).unwrap();
    let refused = haloscope_report::stop::or_refused(|| Ok::<_, Error>(part.events(lacking).len()));
    let message = refused.unwrap_err().to_string();
    assert!(message.contains(&lacking.name) && message.contains("haloscope part"), "{message}");
    assert!(ask(&part, "ops", &Scope::default()).is_ok());
    // Nothing of a part is kept as if it were the file.
    assert!(part.structure(0).is_none() && profile.structure(0).is_some());
}

#[test]
fn what_cannot_be_split_says_what_can() {
    let profile = support::open("tpu-gate");
    for id in ["compare", "inspect", "audit flags", "nonsense"] {
        let error = part::of(&profile, &[id]).err().unwrap();
        assert!(matches!(error, Error::Usage(_)), "{id}");
        let text = error.to_string();
        assert!(text.contains(id) && text.contains("overview, ") && text.contains("hosts"), "{text}");
    }
    for id in part::USUAL {
        assert!(part::all().any(|known| known == *id), "{id}");
    }
}

#[test]
fn programs_that_all_hosts_hold_are_decoded_once() {
    let profile = support::open("tpu-train");
    let per_host = profile.modules.len() / profile.hosts.len();
    assert!(per_host > 0 && profile.hosts.len() == 2);
    for (first, second) in profile.modules[..per_host].iter().zip(&profile.modules[per_host..]) {
        assert_eq!(first.label(), second.label());
        let (a, b) = (first.decode(&profile).unwrap(), second.decode(&profile).unwrap());
        assert!(std::ptr::eq(a, b), "{}", first.label());
    }
}

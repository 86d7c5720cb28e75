//! What is kept, and for how long.

use std::fs;
use std::time::SystemTime;

use haloscope_analyses as analyses;

use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::Params;

use super::*;

/// A file that is called as a profile is.
fn run(folder: &Path, name: &str) -> load::Run {
    let path = folder.join(name);
    fs::write(&path, vec![7; 5_000]).unwrap();
    load::Run { files: vec![path.clone()], path, chosen_from: 1 }
}

fn cache(folder: &Path, max_bytes: u64) -> Cache {
    Cache { quiet: Duration::ZERO, ..Cache::at(folder.join("cache"), max_bytes).unwrap() }
}

fn question(run: &load::Run, id: &str, words: &[(&str, &str)]) -> Option<Question> {
    let scope = Scope::from_words(|key| words.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)).unwrap();
    Question::new(analyses::find(id).unwrap(), &[run], &scope, &Params::default())
}

/// A report that says of which question it is.
fn report(analysis: &'static str, of: &str) -> haloscope_report::Report {
    let mut report = haloscope_report::Report { analysis, ..Default::default() };
    report.scope.left_out.push(of.to_owned());
    report
}

#[test]
fn answers_of_tools_are_kept_as_they_were_sent_and_for_the_files_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (run(folder.path(), "a.xplane.pb"), run(folder.path(), "b.xplane.pb"));
    let cache = cache(folder.path(), u64::MAX);
    let asked = [
        ("xprof hlo_stats", "[]", &a),
        ("xprof op_profile", "[]", &a),
        ("xprof op_profile", "[(\"group_by\", \"category\")]", &a),
        ("xprof op_profile", "[]", &b),
    ];
    let questions = asked.map(|(tool, words, run)| Question::of_words(tool, words, run).unwrap());
    let body = |number: usize| Body { content_type: format!("t{number}"), bytes: vec![number as u8; 3] };
    for (number, question) in questions.iter().enumerate() {
        assert_eq!(cache.body(question), None, "{number}");
        cache.keep_body(question, &body(number));
    }
    for (number, question) in questions.iter().enumerate() {
        assert_eq!(cache.body(question), Some(body(number)));
    }
    // The form of one kind of answer is not that of another, and what cannot be read goes.
    assert!(cache.answer(&questions[0]).is_none() && cache.body(&questions[0]).is_none());
    // Another file in its place.
    fs::write(&a.files[0], vec![8; 5_000]).unwrap();
    let changed = Question::of_words("xprof op_profile", "[]", &a).unwrap();
    assert_eq!(cache.body(&changed), None);
    // What was asked of the former file is not kept any more.
    cache.keep_body(&questions[0], &body(9));
    assert_eq!(cache.body(&questions[0]), None);
    assert_eq!(cache.body(&questions[3]), Some(body(3)));
    // A compiled program may have files beside it.
    let other = run(folder.path(), "a.hlo_proto.pb");
    assert!(Question::of_words("xprof hlo_stats", "[]", &other).is_none());
}

#[test]
fn each_question_has_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (run(folder.path(), "a.xplane.pb"), run(folder.path(), "b.xplane.pb"));
    let cache = cache(folder.path(), u64::MAX);
    let asked = [
        question(&a, "overview", &[]),
        question(&a, "ops", &[]),
        question(&b, "overview", &[]),
        question(&a, "overview", &[("steps", "1")]),
        question(&a, "overview", &[("window", "1ms..2ms")]),
    ];
    let asked: Vec<Question> = asked.into_iter().map(Option::unwrap).collect();
    for (number, question) in asked.iter().enumerate() {
        assert!(cache.answer(question).is_none(), "{number}");
        let id = if number == 1 { "ops" } else { "overview" };
        cache.keep(question, &report(id, &number.to_string()));
    }
    for (number, question) in asked.iter().enumerate() {
        assert_eq!(cache.answer(question).unwrap().scope.left_out, [number.to_string()]);
    }
    assert_eq!(cache.trouble(), None);
    // Another file in its place: no answer, and none is kept under the former question.
    fs::write(&a.files[0], vec![8; 5_000]).unwrap();
    cache.keep(&asked[0], &report("overview", "wrong"));
    assert!(cache.answer(&question(&a, "overview", &[]).unwrap()).is_none());
    assert_eq!(cache.answer(&asked[2]).unwrap().scope.left_out, ["2"]);
}

#[test]
fn what_depends_on_more_than_its_file_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["module_0001.after_optimizations.hlo_proto.pb", "flags.txt", "x.pb"] {
        assert!(question(&run(folder.path(), name), "overview", &[]).is_none(), "{name}");
    }
    assert!(question(&run(folder.path(), "x.xplane.pb.gz"), "overview", &[]).is_some());
    // A file that was written a moment ago may still be written.
    let young = run(folder.path(), "young.xplane.pb");
    let cache = Cache::at(folder.path().join("cache"), u64::MAX).unwrap();
    let question = question(&young, "overview", &[]).unwrap();
    cache.keep(&question, &report("overview", ""));
    assert!(cache.answer(&question).is_none());
    assert!(cache.index_of(&young.files[0]).is_none());
}

#[test]
fn what_was_not_used_for_the_longest_time_goes_first() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), 20_000);
    let runs: Vec<_> = (0..12).map(|n| run(folder.path(), &format!("{n}.xplane.pb"))).collect();
    let asked: Vec<_> = runs.iter().map(|run| question(run, "overview", &[]).unwrap()).collect();
    // As many bytes as cannot be made fewer.
    let text: String = (0..3_000).map(|n| char::from(b'a' + (n * n % 23) as u8)).collect();
    for (number, question) in asked.iter().enumerate() {
        cache.keep(question, &report("overview", &format!("{number} {text}")));
        // The first is used all the time.
        assert!(cache.answer(&asked[0]).is_some(), "after {number}");
        std::thread::sleep(Duration::from_millis(5));
    }
    let held: Vec<bool> = asked.iter().map(|question| cache.answer(question).is_some()).collect();
    assert!(held[0] && held[11] && !held[1] && !held[2], "{held:?}");
    let contents = cache.contents();
    let bytes: u64 = contents.items.iter().map(|item| item.bytes).sum();
    assert!(bytes <= 20_000 && contents.items.len() >= 4, "{bytes}");
    assert!(contents.items.iter().all(|item| item.used <= SystemTime::now() && item.files.len() == 1));
    assert_eq!(cache.clear(), bytes);
    assert!(cache.contents().items.is_empty() && cache.answer(&asked[0]).is_none());
}

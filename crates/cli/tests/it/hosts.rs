//! Runs of many hosts: the same answers in little memory, and from the hosts that can be read.

use std::fs;
use std::path::Path;

use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space};

use super::support::{Outcome, command};

/// A host with one TPU: `events` ops, one after the other.
fn host(events: i64) -> Vec<u8> {
    let mut ops = Line::new(1, "XLA Ops");
    ops.events = (0..events).map(|i| Event::at(1 + i % 50, i * 2000, 1000 + i % 7)).collect();
    let mut steps = Line::new(2, "Steps");
    steps.events = (0..events / 1000).map(|i| Event::at(1 + i % 50, i * 2_000_000, 1_999_000)).collect();
    let meta = |id: i64| {
        let name = format!("%fusion.{id} = f32[8]{{0}} fusion(f32[8]{{0}} %p), kind=kLoop");
        (id, EventMetadata { id, name, display_name: format!("fusion.{id}"), ..EventMetadata::default() })
    };
    let plane = Plane {
        name: "/device:TPU:0".into(),
        lines: vec![ops, steps],
        event_metadata: (1..=50).map(meta).collect(),
        ..Plane::default()
    };
    Space { planes: vec![plane], ..Space::default() }.to_bytes()
}

fn session(folder: &Path, hosts: usize, events: i64) -> String {
    let session = folder.join("plugins/profile/run");
    fs::create_dir_all(&session).unwrap();
    let bytes = host(events);
    for i in 0..hosts {
        fs::write(session.join(format!("host-{i:02}.xplane.pb")), &bytes).unwrap();
    }
    folder.display().to_string()
}

/// Runs a question afresh, with these words behind it.
fn ask(question: &str, run: &str, more: &[&str], cache: &Path) -> Outcome {
    let words: Vec<&str> =
        question.split(' ').chain([run, "--format", "json"]).chain(more.iter().copied()).collect();
    let output = command(&words)
        .env("XDG_CACHE_HOME", cache)
        .env("HALOSCOPE_CACHE", "off")
        .env_remove("HALOSCOPE_MEMORY_LIMIT")
        .output()
        .unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
#[cfg(target_os = "linux")]
fn answers_are_the_same_under_a_limit_and_the_limit_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = session(folder.path(), 24, 60_000);
    // What the last three keep of all devices at once cannot be put aside: they may take more, and say so.
    for (question, keeps_much) in
        [("overview", false), ("ops", false), ("steps", true), ("hosts", true), ("idle", true)]
    {
        let free = ask(question, &run, &["--memory-limit", "4GiB"], folder.path());
        assert_eq!(free.code, 0, "{question}: {}", free.stderr);
        // Files and columns are some 70 MB.
        let bound = ask(question, &run, &["--memory-limit", "80MiB"], folder.path());
        assert_eq!(bound.code, 0, "{question}: {}", bound.stderr);
        assert!(free.stdout == bound.stdout, "{question} differs under a limit");
        // The note that more was taken is a measurement of the process by itself.
        let says_more = bound.stderr.contains("over the limit");
        assert!(keeps_much || !says_more, "{question}: {}", bound.stderr);
    }
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 2, "the cache folder and the run's: {left:?}");
    assert_eq!(
        fs::read_dir(folder.path().join("haloscope")).unwrap().count(),
        0,
        "scratch files have no names"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_limit_that_is_too_low_is_refused_and_says_what_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let run = session(folder.path(), 3, 20_000);
    let low = ask("overview", &run, &["--memory-limit", "4MiB"], folder.path());
    assert_eq!(low.code, 2, "{}", low.stderr);
    assert!(low.stderr.contains("4.000 MiB is too low") && low.stderr.contains("at least"), "{}", low.stderr);
    let bad = ask("overview", &run, &["--memory-limit", "much"], folder.path());
    assert_eq!(bad.code, 2);
    assert!(bad.stderr.contains("512MiB"), "{}", bad.stderr);
}

#[test]
fn of_64_hosts_the_one_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = session(folder.path(), 64, 2000);
    let bad = folder.path().join("plugins/profile/run/host-37.xplane.pb");
    fs::write(&bad, "this is no profile").unwrap();
    for question in ["overview", "hosts", "inspect"] {
        let outcome = ask(question, &run, &[], folder.path());
        assert_eq!(outcome.code, 0, "{question}: {}", outcome.stderr);
        let report = outcome.stdout;
        assert!(report.contains("host-37.xplane.pb"), "{question} does not name the file");
        assert!(report.contains("host-36") && report.contains("host-38"), "{question} lacks its neighbours");
    }
}

/// The program in so few kilobytes of addresses.
#[cfg(target_os = "linux")]
fn within(kilobytes: u64, words: &[&str], cache: &Path) -> Outcome {
    let inner = command(words);
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("ulimit -v {kilobytes} && exec \"$0\" \"$@\"")])
        .arg(inner.get_program())
        .args(inner.get_args())
        .envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))))
        .env("HALOSCOPE_CACHE", "off")
        .env("XDG_CACHE_HOME", cache)
        // Threads reserve addresses, as many as there are cores.
        .env("RAYON_NUM_THREADS", "2")
        .env("MALLOC_ARENA_MAX", "1")
        .env_remove("HALOSCOPE_MEMORY_LIMIT")
        .output()
        .unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// An LLO module of so many instructions, each with three operands.
#[cfg(target_os = "linux")]
fn llo_module(instructions: usize) -> Vec<u8> {
    fn message(field: u8, body: &[u8]) -> Vec<u8> {
        let mut out = vec![field << 3 | 2];
        let mut length = body.len();
        while length > 0x7f {
            out.push(length as u8 & 0x7f | 0x80);
            length >>= 7;
        }
        out.push(length as u8);
        out.extend_from_slice(body);
        out
    }
    let operands = message(3, &[0x10, 1]).repeat(3);
    let member = message(1, &message(1, &[&[0x08, 1, 0x10, 50][..], &operands].concat()));
    [message(1, b"product.1"), message(2, &member.repeat(instructions)), message(10, b"jit_f")].concat()
}

#[test]
#[cfg(target_os = "linux")]
fn what_the_system_refuses_is_refused_in_words_and_before() {
    let folder = tempfile::tempdir().unwrap();
    let run = session(folder.path(), 1, 2_000_000);
    let module = folder.path().join("llo_module.pb");
    fs::write(&module, llo_module(600_000)).unwrap();
    let module = module.display().to_string();
    let small = tempfile::tempdir().unwrap();
    let few = session(small.path(), 1, 1000);
    // What a process needs that reads little is free.
    let free = within(200_000, &["ops", &few], folder.path());
    assert_eq!(free.code, 0, "{}", free.stderr);
    for (words, kilobytes) in
        [(["ops", &run[..]], [160_000, 200_000]), (["kernel list", &module[..]], [120_000, 140_000])]
    {
        for kilobytes in kilobytes {
            let words: Vec<&str> = words[0].split(' ').chain([words[1]]).collect();
            let outcome = within(kilobytes, &words, folder.path());
            assert!([2, 3].contains(&outcome.code), "{words:?} in {kilobytes}: {}", outcome.stderr);
            assert!(outcome.stderr.contains("ulimit -v"), "{words:?} in {kilobytes}: {}", outcome.stderr);
        }
        let words: Vec<&str> = words[0].split(' ').chain([words[1]]).collect();
        let enough = within(2_000_000, &words, folder.path());
        assert_eq!(enough.code, 0, "{words:?}: {}", enough.stderr);
    }
}

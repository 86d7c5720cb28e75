//! Questions put to workers, each a process of its own on this machine, against the same questions without.

#[cfg(unix)]
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Output, Stdio};
#[cfg(unix)]
use std::time::SystemTime;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{command, fixture, text};

pub(crate) const TOKEN: &str = "a-token-of-these-tests";

/// A worker that ends with the test.
pub(crate) struct Worker {
    process: Child,
    pub(crate) url: String,
    /// Kept, so that what it says does not end it.
    _said: BufReader<ChildStderr>,
}

impl Worker {
    fn start(roots: &Path, token: Option<&Path>) -> Self {
        Self::start_with(roots, token, &[])
    }

    /// The same with these variables in its environment.
    pub(crate) fn start_with(roots: &Path, token: Option<&Path>, variables: &[(&str, &str)]) -> Self {
        let mut command = command();
        command.envs(variables.iter().copied());
        command.args(["worker", "--listen", "127.0.0.1:0", "--roots"]).arg(roots);
        token.iter().for_each(|token| {
            command.arg("--token-file").arg(token);
        });
        let mut process = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { process, url, _said: said }
    }

    /// Its id, as the system has it.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A run of several hosts below a folder, and the token of its workers.
struct Place {
    folder: TempDir,
    run: PathBuf,
    token: PathBuf,
}

/// Hosts of these fixtures: what each is called, and whose file it has.
pub(crate) const HOSTS: [(&str, &str, &str); 6] = [
    ("a-0", "tpu-train", "tpu-w-0"),
    ("a-1", "tpu-train", "tpu-w-1"),
    ("b-0", "tpu-run-scan", "w-0"),
    ("b-1", "tpu-run-scan", "w-1"),
    ("b-2", "tpu-run-scan", "w-2"),
    ("b-3", "tpu-run-scan", "w-3"),
];

pub(crate) fn file_of(run: &str, host: Option<&str>) -> PathBuf {
    let mut found = Vec::new();
    let mut folders = vec![fixture(run)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.contains(".xplane.pb")
                && host.is_none_or(|host| name.starts_with(&format!("{host}.")))
            {
                found.push(path);
            }
        }
    }
    assert_eq!(found.len(), 1, "{run} {host:?}");
    found.remove(0)
}

impl Place {
    fn of(hosts: &[(&str, &str, Option<&str>)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("logs/plugins/profile/2026_01_01_00_00_00");
        fs::create_dir_all(&run).unwrap();
        for (name, fixture, host) in hosts {
            let file = file_of(fixture, *host);
            let packed = if file.extension().is_some_and(|ending| ending == "gz") { ".gz" } else { "" };
            fs::copy(file, run.join(format!("{name}.xplane.pb{packed}"))).unwrap();
        }
        let token = folder.path().join("token");
        fs::write(&token, TOKEN).unwrap();
        Self { run: folder.path().join("logs"), token, folder }
    }

    fn usual() -> Self {
        Self::of(&HOSTS.map(|(name, run, host)| (name, run, Some(host))))
    }

    fn worker(&self) -> Worker {
        Worker::start(&self.run, Some(&self.token))
    }

    fn workers<const N: usize>(&self) -> [Worker; N] {
        std::array::from_fn(|_| self.worker())
    }

    fn session(&self) -> PathBuf {
        self.run.join("plugins/profile/2026_01_01_00_00_00")
    }

    fn embedded(&self, words: &[&str]) -> Output {
        command().arg(&self.run).args(words).output().unwrap()
    }

    fn spread(&self, workers: &[&Worker], words: &[&str]) -> Output {
        self.spread_to(&urls(workers), words)
    }

    fn spread_to(&self, urls: &str, words: &[&str]) -> Output {
        let mut command = command();
        command.arg(&self.run).args(words).arg("--cluster").arg(urls).arg("--token-file").arg(&self.token);
        command.output().unwrap()
    }

    /// Asks both ways: the same bytes, and some.
    fn same(&self, workers: &[&Worker], words: &[&str]) {
        let words = [words, &["--format", "csv"]].concat();
        let (own, spread) = (self.embedded(&words), self.spread(workers, &words));
        assert!(own.status.success(), "{words:?}: {}", text(&own.stderr));
        assert!(spread.status.success(), "{words:?}: {}", text(&spread.stderr));
        assert_eq!(text(&spread.stdout), text(&own.stdout), "{words:?}");
        assert!(own.stdout.iter().filter(|byte| **byte == b'\n').count() > 1, "{words:?}: no rows");
    }
}

pub(crate) fn urls(workers: &[&Worker]) -> String {
    workers.iter().map(|worker| worker.url.as_str()).collect::<Vec<_>>().join(",")
}

/// An address at which nobody listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

const QUESTIONS: [&str; 20] = [
    "SELECT count(*) FROM event",
    "SELECT host, kind, count(*), sum(dur_ps), min(start_ps), max(end_ps), sum(self_ps) FROM event GROUP BY host, kind ORDER BY host, kind",
    "SELECT name, count(*) AS n, sum(dur_ps) FROM event WHERE kind = 'op' GROUP BY name ORDER BY n DESC, name LIMIT 20",
    "SELECT line_id, count(*), sum(id), sum(depth), max(device_dur_ps) FROM event GROUP BY line_id ORDER BY line_id",
    "SELECT device, name, start_ps FROM event WHERE start_ps BETWEEN 5000000000 AND 9000000000 AND name LIKE '%fusion%' ORDER BY start_ps, line_id, id LIMIT 30",
    "SELECT step, count(*), sum(self_ps) FROM event WHERE op IS NOT NULL GROUP BY step ORDER BY step NULLS LAST",
    "SELECT e.host, s.class, count(*) FROM event e JOIN step s ON e.device = s.device AND e.step = s.step WHERE e.kind = 'op' GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT d.host, d.type, count(*) FROM device d LEFT JOIN event e ON e.device = d.device GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT a.host, b.host, count(*) FROM step a JOIN launch b ON a.step = b.step GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT line_id, id, start_ps - lag(end_ps) OVER (PARTITION BY line_id ORDER BY start_ps, id) AS gap FROM event WHERE kind = 'op' ORDER BY line_id, id LIMIT 500",
    "SELECT args['run_id'] AS r, count(*) FROM event GROUP BY r ORDER BY r NULLS LAST",
    "SELECT category, count(*), sum(CAST(flops AS BIGINT)) FROM event WHERE flops > 1000 GROUP BY category ORDER BY category",
    "SELECT * FROM host ORDER BY host",
    "SELECT * FROM device ORDER BY host, device",
    "SELECT * FROM line ORDER BY line_id",
    "SELECT host, device, op, occurrences, total_ps, self_ps FROM op ORDER BY host, device, op, total_ps, self_ps",
    "SELECT * FROM launch ORDER BY host, device, start_ps, module",
    "SELECT host, module, program_id, instructions FROM module ORDER BY 1, 2, 3",
    "SELECT host, module, instruction, opcode, flops FROM instruction ORDER BY 1, 2, 3, 4 LIMIT 200",
    "SELECT count(*) AS n FROM event UNION ALL SELECT count(*) FROM step UNION ALL SELECT sum(events) FROM line ORDER BY n",
];

/// No file is read by two workers, and none by nobody: with one worker, several, and more than files.
#[test]
fn answers_are_those_of_one_process() {
    let place = Place::usual();
    let workers: [Worker; 7] = place.workers();
    for count in [1, 3, 7] {
        let some: Vec<&Worker> = workers.iter().take(count).collect();
        for question in QUESTIONS {
            place.same(&some, &[question]);
        }
    }
}

#[test]
fn every_canned_question_and_an_analysis() {
    let place = Place::usual();
    let workers: [Worker; 3] = place.workers();
    let all: Vec<&Worker> = workers.iter().collect();
    let list = text(&command().arg("--questions").output().unwrap().stdout);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split('`').nth(1)).collect();
    assert_eq!(names.len(), 12, "{list}");
    for name in names {
        place.same(&all, &[name]);
    }
    place.same(&all, &["SELECT * FROM analysis('steps') ORDER BY step"]);
    place.same(&all, &["SELECT table_name FROM information_schema.tables ORDER BY table_name"]);
}

/// How steps are found is decided for the whole run: where files alone would find others, they are read whole.
#[test]
fn steps_are_those_of_the_run() {
    let question = "SELECT device, step, count(*), sum(dur_ps) FROM event GROUP BY device, step ORDER BY device NULLS LAST, step NULLS LAST";
    for hosts in [
        [("c-0", "cpu-train", None), ("c-1", "cpu-train", None), ("c-2", "cpu-infer", None)],
        [("g-0", "gpu-train", None), ("g-1", "gpu-train", None), ("g-2", "gpu-train", None)],
        [("t-0", "tpu-train", Some("tpu-w-0")), ("t-1", "gpu-train", None), ("t-2", "cpu-train", None)],
    ] {
        let place = Place::of(&hosts);
        let workers: [Worker; 2] = place.workers();
        place.same(&workers.iter().collect::<Vec<_>>(), &[question]);
    }
}

/// Two runs, each on a clock of its own, asked at once.
#[test]
fn several_runs() {
    let place = Place::usual();
    let other = place.folder.path().join("logs/other");
    fs::create_dir_all(&other).unwrap();
    fs::copy(file_of("gpu-train", None), other.join("g.xplane.pb")).unwrap();
    let workers: [Worker; 2] = place.workers();
    let question =
        "SELECT run, host, count(*), min(start_ps) FROM event GROUP BY run, host ORDER BY run, host";
    let ask = |more: &[&str]| {
        let mut command = command();
        command.arg(place.session()).arg(&other).args([question, "--format", "csv"]).args(more);
        command.output().unwrap()
    };
    let own = ask(&[]);
    let spread = ask(&[
        "--cluster",
        &urls(&workers.iter().collect::<Vec<_>>()),
        "--token-file",
        place.token.to_str().unwrap(),
    ]);
    assert!(own.status.success() && spread.status.success(), "{}", text(&spread.stderr));
    assert_eq!(text(&own.stdout), text(&spread.stdout));
    assert!(text(&own.stdout).contains("other,g,"), "{}", text(&own.stdout));
}

#[test]
fn a_sum_that_does_not_fit_is_an_error_here_and_there() {
    let place = Place::usual();
    let workers: [Worker; 3] = place.workers();
    let all: Vec<&Worker> = workers.iter().collect();
    for question in [
        "SELECT sum(9000000000000000000 + depth) FROM event",
        "SELECT kind, sum(9000000000000000000 + depth) FROM event GROUP BY kind",
        "SELECT max(start_ps * 9000000000000000000) FROM event",
    ] {
        let (own, spread) = (place.embedded(&[question]), place.spread(&all, &[question]));
        assert_eq!((own.status.code(), spread.status.code()), (Some(2), Some(2)), "{}", text(&spread.stderr));
        assert!(text(&spread.stderr).contains("does not fit into 64 bits"), "{}", text(&spread.stderr));
        assert!(spread.stdout.is_empty());
    }
}

/// A question that takes a while: each event held against many.
const LONG: &str = "SELECT a.kind, count(*) FROM event a JOIN event b ON a.kind = b.kind AND a.start_ps < b.start_ps AND a.host < b.host \
                    WHERE a.kind = 'op' AND a.id % 8 = 0 AND b.id % 8 = 0 GROUP BY a.kind ORDER BY a.kind";

/// Asks it, and does something once workers are at work.
fn meanwhile(place: &Place, urls: &str, what: impl FnOnce()) -> (Output, Duration) {
    let mut command = command();
    command.arg(&place.run).args([LONG, "--format", "csv", "--verbose", "--cluster", urls]);
    command.arg("--token-file").arg(&place.token);
    let begun = Instant::now();
    let mut asked = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(asked.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("files on") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before workers were at work");
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(asked.try_wait().unwrap().is_none(), "it was over before anything happened");
    what();
    let mut stderr = Vec::new();
    said.read_to_end(&mut stderr).unwrap();
    let mut output = asked.wait_with_output().unwrap();
    output.stderr = stderr;
    (output, begun.elapsed())
}

#[test]
fn a_worker_that_dies_is_left_out_and_the_question_asked_again() {
    let place = Place::usual();
    let [first, second, mut third] = place.workers();
    let own = place.embedded(&[LONG, "--format", "csv"]);
    let all = urls(&[&first, &second, &third]);
    let gone = third.url.clone();
    let (output, _) = meanwhile(&place, &all, || third.kill());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(text(&output.stdout), text(&own.stdout));
    assert!(said.contains("a worker died") && said.contains(&gone), "{said}");
    // The others work on.
    place.same(&[&first, &second], &["SELECT count(*) FROM event"]);
}

/// One that hangs closes no connection.
#[cfg(unix)]
#[test]
fn a_worker_that_hangs_is_left_out_too() {
    let place = Place::usual();
    let [first, second] = place.workers();
    let own = place.embedded(&[LONG, "--format", "csv"]);
    let signal = |signal: &str, worker: &Worker| {
        let id = worker.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
    };
    let (output, _) = meanwhile(&place, &urls(&[&first, &second]), || signal("-STOP", &second));
    signal("-CONT", &second);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), text(&own.stdout));
    assert!(text(&output.stderr).contains(&second.url), "{}", text(&output.stderr));
}

#[test]
fn all_that_die_are_named() {
    let place = Place::usual();
    let [mut first, mut second] = place.workers();
    let all = urls(&[&first, &second]);
    let names = [first.url.clone(), second.url.clone()];
    let mut died = None;
    let (output, _) = meanwhile(&place, &all, || {
        first.kill();
        second.kill();
        died = Some(Instant::now());
    });
    assert!(died.unwrap().elapsed() < Duration::from_secs(10));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(output.stdout.is_empty());
    assert!(names.iter().all(|name| said.contains(name)) && said.contains("no worker answers"), "{said}");
}

#[test]
fn who_does_not_answer_at_the_start_is_left_out() {
    let place = Place::usual();
    let worker = place.worker();
    let dead = nobody();
    let both = format!("{dead},{}", worker.url);
    let output = place.spread_to(&both, &["SELECT count(*) FROM event", "--format", "csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(output.stdout, place.embedded(&["SELECT count(*) FROM event", "--format", "csv"]).stdout);
    assert!(text(&output.stderr).contains(&format!("left out: {dead}")), "{}", text(&output.stderr));

    let others = [dead, nobody()];
    let begun = Instant::now();
    let output = place.spread_to(&others.join(","), &["SELECT count(*) FROM event"]);
    assert!(begun.elapsed() < Duration::from_secs(10));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(others.iter().all(|other| said.contains(other)), "{said}");
}

#[test]
fn who_has_another_token_is_refused() {
    let place = Place::usual();
    let worker = place.worker();
    let other = place.folder.path().join("other");
    fs::write(&other, "another-token-of-these").unwrap();
    let ask = |words: &[&str]| {
        let mut command = command();
        command.arg(&place.run).args(["SELECT count(*) FROM event", "--cluster", &worker.url]).args(words);
        command.output().unwrap()
    };
    for words in [&["--token-file", other.to_str().unwrap()][..], &[]] {
        let output = ask(words);
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("the token differs from the worker's"),
            "{}",
            text(&output.stderr)
        );
        assert!(output.stdout.is_empty());
    }
    fs::write(&other, "short").unwrap();
    let output = ask(&["--token-file", other.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

/// Without a token only this machine may ask.
#[test]
fn a_worker_for_others_needs_a_token() {
    let place = Place::usual();
    let output =
        command().args(["worker", "--listen", "0.0.0.0:0", "--roots"]).arg(&place.run).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--token-file"), "{}", text(&output.stderr));
    let worker = Worker::start(&place.run, None);
    let output = command().arg(&place.run).args(["SELECT 1", "--cluster", &worker.url]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A worker of another build, as far as whoever asks can see: its address, and what it runs on.
pub(crate) fn of_another_version() -> (String, tokio::runtime::Runtime) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let url = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let worker = datafusion_distributed::Worker::default()
            .with_version("haloscope-query 0.0.1, protocol 1; 1-1; 4");
        let server = tonic::transport::Server::builder().add_service(worker.into_worker_server());
        tokio::spawn(server.serve_with_incoming(tonic::transport::server::TcpIncoming::from(listener)));
        url
    });
    (url, runtime)
}

#[test]
fn another_version_is_refused() {
    let place = Place::usual();
    let (url, _runs) = of_another_version();
    let output = place.spread_to(&url, &["SELECT count(*) FROM event"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("0.0.1") && said.contains("install the same version"), "{said}");
}

#[cfg(unix)]
#[test]
fn what_lies_outside_of_the_roots_is_not_read() {
    let place = Place::usual();
    let elsewhere = tempfile::tempdir().unwrap();
    let worker = Worker::start(elsewhere.path(), Some(&place.token));
    let refused = |output: Output, name: &str| {
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("outside the worker's --roots") && said.contains(name), "{said}");
        assert!(output.stdout.is_empty());
    };
    refused(place.spread(&[&worker], &["SELECT count(*) FROM event"]), "xplane.pb.gz");
    // Nor by a link, nor where files that cannot be read are left out.
    let worker = place.worker();
    let secret = elsewhere.path().join("secret.xplane.pb");
    fs::copy(file_of("gpu-train", None), &secret).unwrap();
    std::os::unix::fs::symlink(&secret, place.session().join("c-0.xplane.pb")).unwrap();
    refused(place.spread(&[&worker], &["SELECT count(*) FROM event", "--partial"]), "c-0.xplane.pb");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let place = Place::usual();
    let workers: [Worker; 3] = place.workers();
    let all: Vec<&Worker> = workers.iter().collect();
    fs::write(place.session().join("b-4.xplane.pb"), b"<html>not found</html>").unwrap();
    let question =
        "SELECT host, count(*), min(start_ps), min(line_id) FROM event GROUP BY host ORDER BY host";
    let (own, spread) = (place.embedded(&[question]), place.spread(&all, &[question]));
    assert_eq!((own.status.code(), spread.status.code()), (Some(3), Some(3)), "{}", text(&spread.stderr));
    assert_eq!(text(&own.stderr), text(&spread.stderr));
    assert!(text(&spread.stderr).contains("b-4.xplane.pb"), "{}", text(&spread.stderr));
    place.same(&all, &[question, "--partial"]);
    let said = text(&place.spread(&all, &[question, "--partial"]).stderr);
    assert!(said.contains("left out: ") && said.contains("b-4.xplane.pb"), "{said}");
}

/// SQL that is wrong is so before any worker hears of it, in the same words.
#[test]
fn what_is_wrong_is_said_as_without_workers() {
    let place = Place::usual();
    let worker = place.worker();
    for question in
        ["SELECT nmae FROM event", "SELECT * FROM evnt", "SELECT", "SELECT name FROM event WHERE name ~ '('"]
    {
        let (own, spread) = (place.embedded(&[question]), place.spread(&[&worker], &[question]));
        assert_eq!(own.status.code(), spread.status.code(), "{question}: {}", text(&spread.stderr));
        assert_eq!(own.status.code(), Some(2), "{question}");
    }
    for list in ["ftp://a:1", "http://a:1/path", "dns://name", ""] {
        let output = place.spread_to(list, &["SELECT 1"]);
        assert_eq!(output.status.code(), Some(2), "{list}: {}", text(&output.stderr));
    }
    let output = place.spread_to("dns://no-such-name.invalid:8795", &["SELECT 1"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
}

/// A name stands for all that it resolves to.
#[test]
fn workers_by_name() {
    let place = Place::usual();
    let worker = place.worker();
    let port = worker.url.rsplit(':').next().unwrap();
    let output = place
        .spread_to(&format!("dns://localhost:{port}"), &["SELECT count(*) FROM event", "--format", "csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(output.stdout, place.embedded(&["SELECT count(*) FROM event", "--format", "csv"]).stdout);
}

/// Each analysis that can be asked about parts is: of what workers send, not of files that are opened here.
#[test]
fn analyses_of_parts_are_those_of_the_run() {
    let place = Place::of(&[("a-0", "tpu-train", Some("tpu-w-0")), ("b-0", "tpu-run-scan", Some("w-0"))]);
    let workers: [Worker; 2] = place.workers();
    let all: Vec<&Worker> = workers.iter().collect();
    let mut answered = 0;
    for id in haloscope_analyses::part::all() {
        let words = [&*format!("SELECT * FROM analysis('{id}')"), "--format", "csv"];
        let (own, spread) = (place.embedded(&words), place.spread(&all, &words));
        let said = text(&spread.stderr);
        assert_eq!(own.status.code(), spread.status.code(), "{id}: {said}");
        assert_eq!(text(&own.stdout), text(&spread.stdout), "{id}: {said}");
        assert!(!said.contains("runs here"), "{id}: {said}");
        answered += usize::from(own.status.success());
    }
    assert!(answered > 20, "only {answered}");
}

#[test]
fn parts_and_what_is_asked_of_them() {
    let place = Place::usual();
    let workers: [Worker; 3] = place.workers();
    let all: Vec<&Worker> = workers.iter().collect();
    for question in [
        "SELECT run, host, file_bytes, part_bytes, bytes FROM part('hosts') ORDER BY host",
        "SELECT host, bytes FROM part('hosts', 'ops') ORDER BY host",
        "SELECT host, part_bytes FROM part() ORDER BY host",
        "SELECT * FROM analysis('hosts', 'steps=2-3')",
        "SELECT * FROM analysis('ops', 'by=category', 'hosts=a-0')",
        "SELECT * FROM analysis('idle', 'table=values')",
        "SELECT a.host, count(*) FROM analysis('hosts') a JOIN event e ON a.host = e.host GROUP BY a.host ORDER BY a.host",
    ] {
        place.same(&all, &[question]);
    }
    // What cannot be split says so, and is answered all the same.
    let words = ["SELECT * FROM analysis('inspect')", "--format", "csv"];
    let (own, spread) = (place.embedded(&words), place.spread(&all, &words));
    assert_eq!(text(&own.stdout), text(&spread.stdout));
    assert!(
        spread.status.success() && text(&spread.stderr).contains("analysis('inspect') runs here"),
        "{}",
        text(&spread.stderr)
    );
    for question in
        ["SELECT * FROM part('compare')", "SELECT * FROM part('nonsense')", "SELECT * FROM part(1)"]
    {
        let (own, spread) = (place.embedded(&[question]), place.spread(&all, &[question]));
        assert_eq!((own.status.code(), spread.status.code()), (Some(2), Some(2)), "{}", text(&spread.stderr));
        assert_eq!(text(&own.stderr), text(&spread.stderr));
    }
}

/// What is kept in a cache: which files, and when each was last used.
#[cfg(unix)]
fn kept_in(cache: &Path) -> BTreeMap<u64, (PathBuf, SystemTime, u64)> {
    use std::os::unix::fs::MetadataExt;
    let files = fs::read_dir(cache.join("answers")).unwrap().map(|entry| entry.unwrap().path());
    let known = |path: PathBuf| {
        let meta = fs::metadata(&path).unwrap();
        (meta.ino(), (path, meta.modified().unwrap(), meta.len()))
    };
    files.map(known).collect()
}

/// Parts that were made before are read, not made: for the same analyses, of a file that is as it was. A cache is no larger than it may be.
#[cfg(unix)]
#[test]
fn parts_are_kept() {
    let question = "SELECT host, file_bytes, part_bytes, bytes FROM part('hosts', 'ops') ORDER BY host";
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    // Of what was written a moment ago nothing is kept.
    let settle = || std::thread::sleep(Duration::from_millis(2100));
    let place = Place::usual();
    let cache = place.folder.path().join("cache");
    let start = |cache: &Path, more: &[(&str, &str)]| {
        let variables = [&[("HALOSCOPE_CACHE", cache.to_str().unwrap())], more].concat();
        Worker::start_with(&place.run, Some(&place.token), &variables)
    };
    let age = || {
        for (path, ..) in kept_in(&cache).values() {
            fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
        }
    };
    let used = || kept_in(&cache).values().filter(|(_, used, _)| *used != long_ago).count();
    settle();
    place.same(&[&start(&cache, &[])], &[question]);
    let first = kept_in(&cache);
    assert_eq!(first.len(), HOSTS.len());
    age();
    // Another process of the same program: what is there is used, and not written anew.
    let worker = start(&cache, &[]);
    place.same(&[&worker], &[question]);
    assert!(kept_in(&cache).keys().eq(first.keys()));
    assert_eq!(used(), HOSTS.len());
    // Other analyses have other parts.
    place.same(&[&worker], &["SELECT host, bytes FROM part('hosts') ORDER BY host"]);
    assert_eq!(kept_in(&cache).len(), 2 * HOSTS.len());
    // One file is another one: its part is made, and of the others none.
    fs::copy(place.session().join("b-0.xplane.pb.gz"), place.session().join("b-1.xplane.pb.gz")).unwrap();
    settle();
    age();
    place.same(&[&worker], &[question]);
    assert_eq!((kept_in(&cache).len(), used()), (2 * HOSTS.len() + 1, HOSTS.len()));
    // What is damaged is made anew.
    for (path, ..) in kept_in(&cache).values() {
        fs::write(path, b"damaged").unwrap();
    }
    place.same(&[&worker], &[question]);
    let sizes = |cache: &Path| kept_in(cache).values().map(|(.., bytes)| *bytes).sum::<u64>();
    let most = first.values().map(|(.., bytes)| *bytes).sum::<u64>() / 2;
    let small = place.folder.path().join("small");
    let worker = start(&small, &[("HALOSCOPE_CACHE_MAX", &format!("{most}B"))]);
    place.same(&[&worker], &[question]);
    place.same(&[&worker], &[question]);
    assert!((1..=most).contains(&sizes(&small)), "{} of {most}", sizes(&small));
}

/// A host whose file cannot be read is in no part, and in no answer.
#[test]
fn parts_without_a_file_that_cannot_be_read() {
    let place = Place::usual();
    let workers: [Worker; 2] = place.workers();
    let all: Vec<&Worker> = workers.iter().collect();
    fs::write(place.session().join("b-4.xplane.pb"), b"<html>not found</html>").unwrap();
    for question in ["SELECT host FROM part('ops') ORDER BY host", "SELECT * FROM analysis('hosts')"] {
        let (own, spread) = (place.embedded(&[question]), place.spread(&all, &[question]));
        assert_eq!((own.status.code(), spread.status.code()), (Some(3), Some(3)), "{}", text(&spread.stderr));
        place.same(&all, &[question, "--partial"]);
    }
}

/// As many hosts as a large run has, more of them than workers can have at once: each counts once, in whatever is asked.
#[test]
fn sixty_four_hosts() {
    let names: Vec<String> = (0..64).map(|host| format!("h-{host:02}")).collect();
    let files = ["w-0", "w-1", "w-2", "w-3"];
    let hosts = names.iter().zip(files.iter().cycle());
    let hosts: Vec<_> = hosts.map(|(name, file)| (name.as_str(), "tpu-run-scan", Some(*file))).collect();
    let place = Place::of(&hosts);
    let workers: [Worker; 3] = place.workers();
    let all: Vec<&Worker> = workers.iter().collect();
    for question in [
        "SELECT host, kind, count(*), sum(dur_ps) FROM event GROUP BY host, kind ORDER BY host, kind",
        "SELECT d.host, count(*) FROM device d JOIN event e ON e.device = d.device GROUP BY d.host ORDER BY d.host",
        "SELECT host, part_bytes FROM part('hosts') ORDER BY host",
        "SELECT * FROM analysis('hosts')",
    ] {
        place.same(&all, &[question]);
    }
    let hosts =
        place.spread(&all, &["SELECT count(DISTINCT host), count(*) FROM part('hosts')", "--format", "csv"]);
    assert!(text(&hosts.stdout).ends_with("\n64,64\n"), "{}", text(&hosts.stdout));
}

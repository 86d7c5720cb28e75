use super::*;
use crate::app::App;
use std::sync::mpsc;

fn app(folder: &Path) -> Arc<App> {
    Arc::new(App::new(crate::Config::new(Store::new(folder).unwrap())).unwrap())
}

fn asked() -> CaptureRequest {
    CaptureRequest::parse(br#"{"servers": ["localhost:1"]}"#, &CaptureHosts::Any).unwrap()
}

fn end_of(job: &Job) -> Outcome {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(job.outcome()).unwrap()
}

/// What a capture leaves behind.
fn session(folder: &Path, name: &str) -> Captured {
    let path = folder.join("plugins/profile").join(name);
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("h.xplane.pb"), b"").unwrap();
    Captured {
        session: name.to_owned(),
        path: path.display().to_string(),
        files: Vec::new(),
        remarks: Vec::new(),
    }
}

#[test]
fn what_was_captured_is_listed_when_it_is_said_to_be_done() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    let captured = session(folder.path(), "2026_01_02");
    let job = app.captures.begin(&app.store, asked(), move |_| Ok(captured)).unwrap();
    let Outcome::Done(_, run) = end_of(&job) else { panic!("{job:?}") };
    assert_eq!(run.as_deref(), Some("2026_01_02"));
    assert_eq!(job.to_json()["run"], "2026_01_02");
}

#[test]
fn a_panic_ends_a_capture_and_not_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    let job = app.captures.begin(&app.store, asked(), |_| panic!("out of cheese")).unwrap();
    assert!(matches!(end_of(&job), Outcome::Failed(why) if why.kind == "bug"));
}

#[test]
fn a_few_run_at_once_and_all_end_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    let until_stopped = |job: &Job| {
        while !job.stop.is_stopped() {
            thread::sleep(Duration::from_millis(1));
        }
        Err(haloscope_capture::Error::Stopped)
    };
    let jobs: Vec<_> =
        (0..AT_ONCE).map(|_| app.captures.begin(&app.store, asked(), until_stopped).unwrap()).collect();
    assert!(app.captures.begin(&app.store, asked(), until_stopped).is_err());
    jobs[0].stop.stop();
    assert!(matches!(end_of(&jobs[0]), Outcome::Cancelled));
    let more = app.captures.begin(&app.store, asked(), until_stopped).unwrap();
    app.captures.end();
    assert!(jobs.iter().chain([&more]).all(|job| job.is_over()));
}

#[test]
fn the_last_ones_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(folder.path());
    let (hold, held) = mpsc::channel::<()>();
    let wait = move |_: &Job| {
        let _ = held.recv();
        Err(haloscope_capture::Error::Stopped)
    };
    let running = app.captures.begin(&app.store, asked(), wait).unwrap();
    for _ in 0..2 * KEPT {
        end_of(&app.captures.begin(&app.store, asked(), |_| Err(haloscope_capture::Error::Stopped)).unwrap());
    }
    assert_eq!(app.captures.lock().len(), KEPT);
    // One that runs is never forgotten.
    assert!(app.captures.find("1").is_ok() && app.captures.find("2").is_err());
    drop(hold);
    end_of(&running);
}

#[test]
fn sessions_go_to_a_log_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    assert_eq!(log_folder(&root), Ok(root.clone()));
    session(&root, "a");
    assert_eq!(log_folder(&root), Ok(root.clone()));
    assert_eq!(log_folder(&root.join("plugins/profile")), Ok(root.clone()));
    assert!(log_folder(&root.join("plugins/profile/a")).is_err());
    assert!(log_folder(&root.join("plugins/profile/a/h.xplane.pb")).is_err());
    assert!(log_folder(&root.join("absent")).is_err());
}

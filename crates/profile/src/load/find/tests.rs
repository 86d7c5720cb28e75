use super::*;

fn put(root: &Path, files: &[&str]) {
    for file in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"x").unwrap();
    }
}

fn found(root: &Path) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<_> = sessions(root)
        .unwrap()
        .into_iter()
        .map(|session| {
            let name = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().into_owned();
            (session.name.clone(), session.files.iter().map(name).collect())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn every_layout_gives_its_sessions() {
    let folder = tempfile::tempdir().unwrap();
    put(
        folder.path(),
        &[
            // A folder that TensorBoard writes to.
            "train/events.out.tfevents.1.host",
            "train/plugins/profile/2026_01_01_00_00_00/host.xplane.pb",
            "train/plugins/profile/2026_01_01_00_00_00/host.overview_page.pb",
            // A profile every so many steps.
            "step_00000100/plugins/profile/a/h0.xplane.pb",
            "step_00000200/plugins/profile/a/h0.xplane.pb",
            // Nested runs, and two processes of one host.
            "sweep/lr/0.1/plugins/profile/b/h_9000.xplane.pb",
            "sweep/lr/0.1/plugins/profile/b/h_9001.xplane.pb",
            // In pieces, packed, and both beside the whole.
            "pieces/h0.xplane.riegeli",
            "pieces/h1.xplane.pb",
            "pieces/h1.xplane.riegeli",
            "pieces/h2.xplane.pb.gz",
            "pieces/h2.xplane.riegeli",
        ],
    );
    let expected = [
        ("pieces", vec!["h0.xplane.riegeli", "h1.xplane.pb", "h2.xplane.pb.gz"]),
        ("step_00000100/a", vec!["h0.xplane.pb"]),
        ("step_00000200/a", vec!["h0.xplane.pb"]),
        ("sweep/lr/0.1/b", vec!["h_9000.xplane.pb", "h_9001.xplane.pb"]),
        ("train/2026_01_01_00_00_00", vec!["host.xplane.pb"]),
    ];
    let expected: Vec<(String, Vec<String>)> = expected
        .into_iter()
        .map(|(name, files)| (name.to_owned(), files.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(found(folder.path()), expected);
    let step = folder.path().join("step_00000100");
    assert_eq!(find(&step).unwrap().files, [step.join("plugins/profile/a/h0.xplane.pb")]);
    let bare = folder.path().join("pieces/h0.xplane.riegeli");
    assert_eq!(find(&bare).unwrap().files, [bare]);
}

#[cfg(unix)]
#[test]
fn what_has_no_end_is_no_profile() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), &["run/whole.xplane.pb"]);
    let run = folder.path().join("run");
    let pipe = run.join("pipe.xplane.pb");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", run.join("zero.xplane.pb")).unwrap();
    std::os::unix::fs::symlink(run.join("whole.xplane.pb"), run.join("link.xplane.pb")).unwrap();
    assert_eq!(
        found(folder.path()),
        [("run".to_owned(), vec!["link.xplane.pb".to_owned(), "whole.xplane.pb".to_owned()])]
    );
    for path in [pipe.as_path(), Path::new("/dev/zero")] {
        let error = find(path).unwrap_err().to_string();
        assert!(error.contains("expected a file or a folder, found a pipe, a socket or a device"), "{error}");
    }
}

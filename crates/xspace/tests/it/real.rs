//! Profiles of real programs, where the folder `../shared/traces` stands beside the checkout.

use std::path::{Path, PathBuf};

use haloscope_xspace::SpaceView;
use haloscope_xspace::write::Space;

use crate::sample::walk;

fn profiles(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            profiles(&path, into);
        } else if path.to_string_lossy().ends_with(".xplane.pb") {
            into.push(path);
        }
    }
}

#[test]
fn real_profiles_are_read_whole_and_written_back() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !traces.is_dir() {
        println!("skipped: there is no folder {}", traces.display());
        return;
    }
    let mut paths = Vec::new();
    profiles(&traces.join("real"), &mut paths);
    profiles(&traces.join("forged"), &mut paths);
    assert!(!paths.is_empty());
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let (space, faults) = walk(&bytes);
        assert!(faults.is_empty(), "{}: {:?}", path.display(), faults.kept());
        assert_eq!(SpaceView::parse(&bytes).unknown_fields, 0, "{}", path.display());
        assert!(
            space.planes.iter().any(|p| p.lines.iter().any(|l| !l.events.is_empty())),
            "{}",
            path.display()
        );
        let written = space.to_bytes();
        assert_eq!(Space::from(&SpaceView::parse(&written)), space, "{}", path.display());
    }
}

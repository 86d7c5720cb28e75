//! Kernels that are not part of the project, where they are.

use std::path::Path;

use crate::fixtures::{each, holds};

#[test]
fn every_kernel_beside_the_checkout_is_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/llo-kernels");
    let Ok(folders) = std::fs::read_dir(&corpus) else {
        println!("skipped: {} is not here", corpus.display());
        return;
    };
    let files =
        folders.flatten().map(|folder| folder.path().join("xspace.pb.gz")).filter(|file| file.is_file());
    let count: usize = files.map(|file| each(&file, holds)).sum();
    assert!(count > 0, "no module in {}", corpus.display());
}

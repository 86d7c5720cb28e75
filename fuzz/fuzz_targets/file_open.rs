//! Arbitrary bytes as a file of any name that a run may have: packed profiles and traces, dumps of programs, text of HLO. Each opens or
//! is refused, and what opens answers what every run is asked first. The first byte chooses the name, the second whether the rest is
//! packed once more, so that what is behind gzip is reached.
#![no_main]

use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use haloscope_analyses as analyses;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_time::analysis;
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 10] = [
    "host.xplane.pb",
    "host.xplane.riegeli",
    "host.trace.json",
    "perfetto_trace.json",
    "train.hlo_proto.pb",
    "module_0001.jit_f.after_optimizations.hlo.pb",
    "module_0001.jit_f.after_optimizations.txt",
    "module_0001.jit_f.after_codegen.txt",
    "module_0001.jit_f.after_optimizations-buffer-assignment.txt",
    "llo_module.pb",
];

/// One folder a process: files of one name follow one another in it.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("haloscope-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the inputs");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let [name, packed, rest @ ..] = bytes else { return };
    let mut name = NAMES[usize::from(*name) % NAMES.len()].to_owned();
    let mut content = rest.to_owned();
    match packed % 3 {
        // As it is, and as a file that says that it is packed and is not.
        0 => {}
        1 => name.push_str(".gz"),
        _ => {
            name.push_str(".gz");
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(rest).expect("packs into memory");
            content = gzip.finish().expect("packs into memory");
        }
    }
    let path = FOLDER.join(name);
    std::fs::write(&path, content).expect("room for an input");
    let opened = load::find(&path).and_then(|run| load::open(&run));
    if let Ok(profile) = opened {
        for id in ["overview", "inspect", "hlo-modules", "memory"] {
            let Some(analysis) = analyses::find(id) else { continue };
            if let Ok(report) = analysis::run(analysis, &profile, &Scope::default(), &Default::default()) {
                let _ = report.to_json();
            }
        }
    }
    // As one of a folder, where what lies beside it is looked for.
    if let Ok(run) = load::find(&FOLDER) {
        let _ = load::open(&run);
    }
    let _ = std::fs::remove_file(&path);
});

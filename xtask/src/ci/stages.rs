//! The table of stages: what a change has to pass, and what is run before a release.
//!
//! Commands are lines for Bash, run in the root of the checkout. In them stand `{bin}` for the program under test, `{xtask}` for
//! this program, `{shared}` for the folder of profiles beside the checkout.

use super::lanes::Lane::{self, Alone, Busy, Compiler, Light, Timed};

/// One of the things that have to hold.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    /// By which it is asked for: `--only NAME`.
    pub(super) name: &'static str,
    /// What it takes of the machine.
    pub(super) lane: Lane,
    /// What comes before it, by name.
    pub(super) needs: &'static [&'static str],
    /// What a change has to pass; `None` where it is left to the night.
    pub(super) change: Option<&'static str>,
    /// What is run before a release.
    pub(super) nightly: &'static str,
    /// It is left out, and that is said, where this path is absent.
    pub(super) reads: Option<&'static str>,
    /// How long it takes, about, in seconds on four cores: those with the most after them are started first.
    pub(super) about_s: u32,
}

impl Stage {
    /// A stage that is the same for a change and at night.
    fn new(name: &'static str, lane: Lane, about_s: u32, command: &'static str) -> Stage {
        Stage { name, lane, needs: &[], change: Some(command), nightly: command, reads: None, about_s }
    }

    /// A stage that is left to the night.
    fn at_night(name: &'static str, lane: Lane, about_s: u32, command: &'static str) -> Stage {
        Stage { change: None, ..Stage::new(name, lane, about_s, command) }
    }

    fn needs(self, needs: &'static [&'static str]) -> Stage {
        Stage { needs, ..self }
    }

    fn nightly(self, command: &'static str) -> Stage {
        Stage { nightly: command, ..self }
    }

    fn reads(self, path: &'static str) -> Stage {
        Stage { reads: Some(path), ..self }
    }

    /// Its command, at night or for a change.
    pub(super) fn command(&self, is_night: bool) -> Option<&'static str> {
        if is_night { Some(self.nightly) } else { self.change }
    }
}

/// The stages of a change, or those of the night.
pub(super) fn stages(is_night: bool) -> Vec<Stage> {
    let mut all = all();
    all.retain(|stage| stage.command(is_night).is_some());
    if !is_night {
        // What is left to the night is in nobody's way.
        let names: Vec<&str> = all.iter().map(|stage| stage.name).collect();
        debug_assert!(all.iter().flat_map(|stage| stage.needs).all(|need| names.contains(need)));
    }
    all
}

/// Where the query engine is built, for all checkouts of this machine.
macro_rules! query_folder {
    () => {
        "export CARGO_TARGET_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/haloscope-ci/query\n"
    };
}

/// Every stage. What compiles comes first, then what the program is asked, then what must not be disturbed.
fn all() -> Vec<Stage> {
    vec![
        // The program under test: of a change the one that `cargo test` made, whose assertions are on; at night the one that is shipped.
        Stage::new("program", Compiler, 5, "cargo test --workspace --no-run").nightly("cargo build --release"),
        Stage::new("format", Light, 5, "cargo fmt --all --check\ncargo fmt --manifest-path fuzz/Cargo.toml --check\ncargo fmt --manifest-path query/Cargo.toml --check"),
        Stage::new("clippy", Compiler, 120, "cargo clippy --workspace --all-targets -- -D warnings").needs(&["program"]),
        // Every crate is checked once more for it, as Clippy has done in a way that rustdoc cannot use.
        Stage::at_night("documentation", Compiler, 60, "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --quiet")
            .needs(&["program"]),
        // Everything is built once more for it: too much for the few seconds that a change could search.
        Stage::at_night("fuzz-build", Compiler, 300, "{xtask} fuzz --build --optimised --whole"),
        Stage::at_night("fuzz", Busy, 2000, "{xtask} fuzz --seconds 120 --optimised --whole")
            .needs(&["fuzz-build"]),
        // A workspace of its own: what it is made of takes as long to build as all of the above. It is built once a machine, in a folder that
        // outlives checkouts, and a change that finds none leaves SQL to the night.
        Stage::new("query", Compiler, 240, concat!(
            query_folder!(),
            "if ! compgen -G \"$CARGO_TARGET_DIR/debug/deps/libdatafusion-*.rlib\" >/dev/null; then\n",
            "  echo \"NOT CHECKED: SQL IS LEFT TO THE NIGHT: there is no query engine in $CARGO_TARGET_DIR; \\`cargo xtask ci --nightly --only query\\` builds it, in 20 minutes of one core\"\n",
            "  exit 0\n",
            "fi\n",
            "cargo test --manifest-path query/Cargo.toml\n",
            "python3 tests/query/run.py --bin {bin} --query $CARGO_TARGET_DIR/debug/haloscope-query",
        ))
        .nightly(concat!(
            query_folder!(),
            "cargo test --manifest-path query/Cargo.toml\n",
            "python3 tests/query/run.py --bin {bin} --query $CARGO_TARGET_DIR/debug/haloscope-query\n",
            "python3 tests/query/duckdb_rows.py --query $CARGO_TARGET_DIR/debug/haloscope-query\n",
            "python3 tests/query/addresses.py --query $CARGO_TARGET_DIR/debug/haloscope-query\n",
            "cargo clippy --manifest-path query/Cargo.toml --all-targets -- -D warnings",
        ))
        .needs(&["program", "node-packages"]),
        // What `cargo test` tries of damage is a part.
        Stage::at_night("damage", Compiler, 300, "HALOSCOPE_WHOLE=1 cargo test --workspace --test it -- damaged")
            .needs(&["program"]),
        Stage::new("circles", Light, 1, "{xtask} circles"),
        Stage::new("fixtures", Busy, 3, "{xtask} fixtures --check"),
        Stage::new("reference", Busy, 6, "{xtask} docs --check"),
        // The page: what is built of its sources is what is committed, whatever an earlier build left behind.
        Stage::new("node-packages", Light, 20, "cd web\nnpm ci --no-audit --no-fund"),
        Stage::new("page-tests", Busy, 20, "cd web\nnpm test").needs(&["node-packages"]),
        Stage::new("page", Busy, 21, concat!(
            // In a copy, since the compiler reads the committed page meanwhile.
            "copy=target/ci/page\n",
            "rm -rf $copy\n",
            "mkdir -p $copy/web $copy/crates/serve\n",
            "tar -C web --exclude=./node_modules --exclude=./test-results -cf - . | tar -C $copy/web -xf -\n",
            "ln -s \"$PWD/web/node_modules\" $copy/web/node_modules\n",
            "for again in 1 2; do\n",
            "  (cd $copy/web; npm run build)\n",
            "  diff -r crates/serve/dist $copy/crates/serve/dist\n",
            "done\n",
            "{xtask} web-hash",
        ))
        .needs(&["node-packages"]),
        Stage::new("page-looks", Busy, 250, "cd web\nnpm run e2e -- --looks")
            .nightly("cd web\nnpm run e2e -- --looks --whole")
            .needs(&["program", "node-packages"]),
        Stage::new("page-acts", Busy, 300, "cd web\nnpm run e2e -- --acts").needs(&["program", "node-packages"]),
        // Frames say nothing of a program built for tests.
        Stage::at_night("timeline-frames", Alone, 40, concat!(
            "big=target/big/20-million/plugins/profile/run/big.xplane.pb\n",
            "[ -e $big ] || {xtask} generate --mb 740 $big\n",
            "cd web\nnode tests/e2e/timeline.mjs --big ../target/big/20-million",
        ))
        .needs(&["program", "node-packages"]),
        // Python packages of others: XProf, and JAX to have programs to capture.
        Stage::new("xprof-packages", Light, 60, concat!(
            "folder=target/peers/xprof\n",
            "if [ ! -e $folder/ready-2 ]; then\n",
            "  python3 -m venv $folder\n",
            "  $folder/bin/python -m pip install --quiet xprof==2.24.2 jax==0.10.2 jaxlib==0.10.2\n",
            "  touch $folder/ready-2\n",
            "fi\n",
            "$folder/bin/python -c 'import importlib.metadata as m; print(\"xprof\", m.version(\"xprof\"), \"jax\", m.version(\"jax\"))'",
        )),
        // XProf's answers: recorded ones of profiles that are not ours, then of the fixtures and of generated profiles.
        Stage::new("xprof-recorded", Busy, 75, "python3 tests/parity/compare_both.py {shared} --bin {bin}")
            .needs(&["program"])
            .reads("{shared}/parity/compare.py"),
        Stage::new("parity", Busy, 12, "python3 tests/parity/run.py {shared}/traces --bin {bin}")
            .needs(&["program"])
            .reads("{shared}/traces"),
        Stage::new("llo", Busy, 30, "python3 tests/llo/run.py {shared}/llo-kernels --bin {bin} --traces {shared}/traces")
            .needs(&["program"])
            .reads("{shared}/llo-kernels/compare_llo.py"),
        Stage::new("xprof-fixtures", Busy, 23, "python3 tests/parity/live.py --bin {bin}")
            .nightly("python3 tests/parity/live.py --bin {bin} --live")
            .needs(&["program", "xprof-packages"]),
        Stage::new("xprof-generated", Busy, 11, "python3 tests/conformance/run.py --bin {bin}")
            .nightly("python3 tests/conformance/run.py --bin {bin} --live")
            .needs(&["program", "xprof-packages"]),
        Stage::new("hlo-text", Busy, 11, "python3 tests/parity/hlo_text.py --bin {bin} {shared}/traces")
            .nightly("python3 tests/parity/hlo_text.py --bin {bin} --live {shared}/traces")
            .needs(&["program", "xprof-packages"]),
        Stage::at_night("memory-rows", Busy, 30, "python3 tests/parity/memory_rows.py").needs(&["xprof-packages"]),
        Stage::at_night("xprof-page", Busy, 300, "node web/tests/xprof-page/main.mjs target/xprof-page")
            .needs(&["program", "node-packages", "xprof-packages"]),
        Stage::at_night("third-party-mcp", Busy, 60, "python3 tests/third-party/mcp.py --bin {bin}")
            .needs(&["program", "xprof-packages"]),
        // The Python package: its methods are those of the registry, it answers as the program, beside JAX and XProf.
        Stage::new("python-packages", Light, 60, "python3 python/tests/run.py --packages"),
        Stage::new("python-module", Compiler, 50, "{xtask} python --check\npython3 python/tests/run.py --module")
            .nightly("{xtask} python --check\npython3 python/tests/run.py --wheel")
            .needs(&["program", "python-packages"]),
        Stage::new("python", Busy, 60, "python3 python/tests/run.py --tests --bin {bin}")
            .needs(&["program", "python-module", "xprof-packages"]),
        // What is released: crates, what they are made of, the workflows that build them.
        Stage::new("package", Compiler, 15, "{xtask} package").nightly("{xtask} package --verify").needs(&["program"]),
        Stage::new("licences", Light, 5, "{xtask} licenses --check").needs(&["node-packages"]),
        Stage::new("dependencies", Light, 5, "bash .ci/dependencies").nightly("bash .ci/dependencies --install"),
        Stage::new("workflows", Light, 20, "python3 tests/release/run.py"),
        Stage::new("archives", Light, 5, "python3 tests/release/archives.py --bin {bin}").needs(&["program"]),
        Stage::new("action", Light, 15, "python3 tests/action/run.py --bin {bin}").needs(&["program"]),
        // What others do with the program.
        Stage::new("gate", Light, 10, "python3 tests/gate/run.py --bin {bin} --traces {shared}/traces").needs(&["program"]),
        Stage::new(
            "tutorial",
            Timed,
            40,
            "python3 tests/tutorial/run.py --bin {bin} --python target/peers/xprof/bin/python",
        )
        .needs(&["program", "xprof-packages"]),
        Stage::new("exports", Busy, 35, "python3 tests/exports/run.py --bin {bin}").needs(&["program", "node-packages"]),
        Stage::new("riegeli", Busy, 50, "python3 tests/riegeli/run.py --bin {bin}").needs(&["program", "xprof-packages"]),
        Stage::new(
            "agents-packages",
            Light,
            15,
            "python3 -c 'import sys; sys.path.insert(0, \"tests/mcp\"); import sdk; print(sdk.python())'",
        ),
        Stage::new("agents", Busy, 40, "python3 tests/mcp/run.py --bin {bin} --quick")
            .nightly("python3 tests/mcp/run.py --bin {bin}")
            .needs(&["program", "agents-packages"]),
        Stage::new("questions", Busy, 21, "python3 tests/mcp/ask.py --bin {bin}").needs(&["program", "agents-packages"]),
        Stage::at_night("planted-faults", Busy, 900, "python3 tests/planted/run.py --bin {bin} --forge {shared}/forge")
            .needs(&["program"])
            .reads("{shared}/forge"),
        Stage::at_night("pairs", Busy, 900, "python3 tests/compare/run.py --bin {bin} --forge {shared}/forge")
            .needs(&["program", "planted-faults"])
            .reads("{shared}/forge"),
        Stage::new("verdicts", Busy, 30, "python3 tests/verdicts/run.py --bin {bin} --stored {shared}/traces/faults")
            .nightly("python3 tests/verdicts/run.py --bin {bin} --forge {shared}/forge")
            .needs(&["program"])
            .reads("{shared}/traces/faults"),
        // What waits for programs, links and kills; a busy machine would make other tests of them.
        Stage::new("far", Timed, 60, "python3 tests/far/run.py --bin {bin}").needs(&["program"]),
        // The speed of a download is measured at night only, on the release build.
        Stage::new("object-stores", Timed, 120, "python3 tests/remote/run.py --bin {bin} --large 100000000")
            .nightly("python3 tests/remote/run.py --bin {bin} --share 0.8")
            .needs(&["program"]),
        Stage::new("captures", Timed, 120, "python3 tests/capture/run.py --bin {bin}")
            .nightly("python3 tests/capture/run.py --bin {bin} --kills 200")
            .needs(&["program", "xprof-packages"]),
        Stage::new("oom-changes", Busy, 40, "target/peers/xprof/bin/python tests/oom/changes.py").needs(&["xprof-packages"]),
        Stage::new("runs", Timed, 120, "python3 tests/run/run.py --bin {bin} --python target/peers/xprof/bin/python")
            .needs(&["program", "xprof-packages"]),
        Stage::new("crashes", Timed, 60, "python3 tests/crash/run.py --bin {bin} --quick --kills 20")
            // With the captures that are killed below, ten thousand processes.
            .nightly("python3 tests/crash/run.py --bin {bin} --kills 4900")
            .needs(&["program"]),
        // Dask, from PyPI.
        Stage::at_night("parts", Busy, 60, "python3 tests/parts/run.py --bin {bin}").needs(&["program"]),
        Stage::new("io-faults", Busy, 15, "python3 tests/io-faults/run.py --bin {bin} --every 13")
            .nightly("python3 tests/io-faults/run.py --bin {bin}")
            .needs(&["program"]),
        Stage::new("names", Busy, 40, "python3 tests/hostile/names.py --bin {bin}").needs(&["program"]),
        Stage::new("hostile", Timed, 90, "python3 tests/hostile/run.py --bin {bin} --shared {shared}/hostile")
            .nightly(concat!(
                "python3 tests/hostile/run.py --bin {bin} --shared {shared}/hostile --whole\n",
                "python3 tests/hostile/run.py --bin {bin} --served 1300",
            ))
            .needs(&["program"]),
        // What programs on the CPU take, against a clock: nothing else may run meanwhile.
        Stage::at_night("programs", Alone, 900, "python3 tests/programs/run.py --bin {bin} --python target/peers/xprof/bin/python")
            .needs(&["program", "xprof-packages"]),
        // What is measured.
        Stage::new(
            "hundred-clients",
            Alone,
            60,
            "python3 tests/load/run.py --bin {bin} --traces {shared}/traces --runs 6 --warm 30 --seconds 20",
        )
        .nightly("python3 tests/load/run.py --bin {bin} --traces {shared}/traces --clients 500 --seconds 3600")
        .needs(&["program"]),
        Stage::at_night("instructions", Alone, 120, "{xtask} instructions").needs(&["program"]),
        Stage::at_night("bench", Alone, 150, "{xtask} bench --quick --binary {bin}").needs(&["program"]),
        // A stranger's first minutes.
        Stage::new("smoke", Light, 10, "python3 .ci/smoke.py {bin}").needs(&["program"]),
    ]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ci::graph;

    /// A stage that does nothing.
    pub(in crate::ci) fn stage(name: &'static str, needs: &'static [&'static str]) -> Stage {
        Stage::new(name, Light, 1, "true").needs(needs)
    }

    #[test]
    fn the_stages_fit_together() {
        for is_night in [false, true] {
            let stages = stages(is_night);
            graph::check(&stages).unwrap();
            assert!(stages.iter().all(|stage| stage.about_s > 0));
        }
    }

    #[test]
    fn nothing_of_a_change_is_left_out_at_night() {
        let night = stages(true);
        for stage in stages(false) {
            assert!(night.iter().any(|other| other.name == stage.name), "{}", stage.name);
        }
    }

    #[test]
    fn names_are_short_words() {
        for stage in stages(true) {
            assert!(stage.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", stage.name);
        }
    }

    #[test]
    fn whoever_asks_the_program_needs_it() {
        for stage in stages(true) {
            let asks = stage.nightly.contains("{bin}");
            assert!(!asks || stage.needs.contains(&"program"), "{}", stage.name);
        }
    }
}

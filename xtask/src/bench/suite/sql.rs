//! SQL: questions to `haloscope query`, whole processes on the profile itself, and to DuckDB over a Parquet file of the same events
//! that was written before, timed within its process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Suite;
use super::data::{self, Subject};
use super::figures::{Figure, Part};
use super::ours::{OURS, environment, fresh_cache};
use crate::bench::process;
use crate::{run_command, talk, target};

pub(super) const DUCKDB: &str = "duckdb";
const VERSION: &str = "1.4.3";
/// The columns that the questions need, as DuckDB is given them.
const COLUMNS: &str = "SELECT line_id, id, kind, name, start_ps, dur_ps, end_ps FROM event";
/// The name of the question whose time is held against DuckDB's.
pub(super) const GAPS: &str = "SQL: gap to the event before, by line";
/// The name of the question whose time is held against the scan.
pub(super) const GROUP_BY: &str = "SQL: GROUP BY name";
/// Of the middle thousandth of the run.
pub(super) const WINDOW: &str = "SQL: GROUP BY name in a thousandth of the run";

/// Opens the Parquet file named first and answers the SQL named second, and says how long both took together.
const ASK_DUCKDB: &str = "import sys, time
import duckdb
start = time.perf_counter()
db = duckdb.connect()
db.execute(f\"CREATE VIEW event AS SELECT * FROM '{sys.argv[1]}'\")
rows = db.execute(sys.argv[2]).fetchall()
print(time.perf_counter() - start)
sys.exit(0 if rows else 'no rows')
";

/// A question in the words of both.
struct Asked {
    what: &'static str,
    ours: String,
    theirs: String,
}

impl Asked {
    fn of_both(what: &'static str, sql: String) -> Self {
        Self { what, theirs: sql.clone(), ours: sql }
    }
}

fn questions(middle_ps: Option<[u64; 2]>) -> Vec<Asked> {
    let names = |rest: &str| {
        format!(
            "SELECT name, count(*), sum(dur_ps) AS ps FROM event {rest} GROUP BY name ORDER BY ps DESC, name LIMIT 10"
        )
    };
    let matching = |like: &str| format!("SELECT count(*) FROM event WHERE {like}(name, '[a-z]+[.][0-9]+$')");
    let mut all = vec![
        Asked::of_both("SQL: count", "SELECT count(*) FROM event".to_owned()),
        Asked::of_both(GROUP_BY, names("")),
        Asked {
            what: "SQL: regular expression",
            ours: matching("regexp_like"),
            theirs: matching("regexp_matches"),
        },
        Asked::of_both(
            GAPS,
            "SELECT count(gap), max(gap) FROM (SELECT start_ps - lag(end_ps) OVER (PARTITION BY line_id ORDER BY start_ps, id) AS gap FROM event) g"
                .to_owned(),
        ),
    ];
    if let Some([from, to]) = middle_ps {
        all.push(Asked::of_both(WINDOW, names(&format!("WHERE start_ps >= {from} AND start_ps < {to}"))));
    }
    all
}

impl Suite {
    /// A generated profile of a TPU, one of ten million events, and a capture on the CPU.
    pub(super) fn sql(&self, part: &mut Part) -> Result<()> {
        let query = self.query.as_deref().with_context(|| {
            format!(
                "there is no haloscope-query beside {}: build it with `cargo build --release --manifest-path query/Cargo.toml` and name it with --query",
                self.binary.display()
            )
        })?;
        let duckdb = duckdb().map_err(|error| part.left_out.push(format!("duckdb: {error:#}"))).ok();
        for mb in [self.preset.small_mb, self.preset.windows_mb] {
            let subject = data::generated(mb, None)?;
            let done = self.in_sql(query, duckdb.as_deref(), &subject, part);
            subject.remove();
            done?;
        }
        let python = self.python.as_deref().context("there is no Python with JAX")?;
        let subject = data::captured(python, self.preset.capture_events)?;
        let done = self.in_sql(query, duckdb.as_deref(), &subject, part);
        subject.remove();
        done
    }

    fn in_sql(&self, query: &Path, duckdb: Option<&Path>, subject: &Subject, part: &mut Part) -> Result<()> {
        let file = subject.files.first().context("a run has a file")?;
        // Other parts measure these too, and each stands once in the report.
        let yardsticks = self.yardsticks(&subject.name, file, self.preset.few + 1)?;
        part.figures.extend(yardsticks);
        let length_ps = self.length_ms(subject).map(|ms| (ms * 1e9) as u64);
        let middle = length_ps.map(|ps| [ps / 2, ps / 2 + ps / 1_000]);
        let parquet = target().join("bench/event.parquet");
        let run = |words: &[&str]| {
            let mut command = Command::new(query);
            command.arg(&subject.folder).args(words);
            fresh_cache("sql").map(|cache| {
                command.envs(environment(&cache));
                command
            })
        };
        let written = if duckdb.is_some() {
            self.tell(&format!("{}: as Parquet", subject.name));
            let to = parquet.to_string_lossy();
            process::measure_within(
                &run(&[COLUMNS, "--format", "parquet", "--output", &to])?,
                self.limits(),
                None,
            )
            .map(drop)
        } else {
            Ok(())
        };
        let asked = questions(middle);
        for asked in &asked {
            self.tell(&format!("{}: {}", subject.name, asked.what));
            let costs = (0..self.preset.runs)
                .map(|_| process::measure_within(&run(&[&asked.ours])?, self.limits(), None))
                .collect();
            part.figures.push(Figure::new(&subject.name, asked.what, OURS, "cold").costs(costs));
            let Some(python) = duckdb else { continue };
            let figure = Figure::new(&subject.name, asked.what, DUCKDB, "cold");
            part.figures.push(match &written {
                Ok(()) => figure.costs(self.ask_duckdb(python, &parquet, &asked.theirs)),
                Err(error) => figure.note(format!("no Parquet file: {error:#}")),
            });
        }
        drop(fs::remove_file(parquet));
        self.in_sql_again(query, subject, &asked, part)
    }

    /// The same with the columns that questions before have kept: those of the second one about a run.
    fn in_sql_again(&self, query: &Path, subject: &Subject, all: &[Asked], part: &mut Part) -> Result<()> {
        let cache = fresh_cache("sql")?;
        let ask = |sql: &str| {
            let mut command = Command::new(query);
            command.arg(&subject.folder).arg(sql).envs(environment(&cache));
            process::measure_within(&command, self.limits(), None)
        };
        let few = self.preset.runs;
        let group_by = all.iter().find(|asked| asked.what == GROUP_BY).context("names are summed")?;
        let kept = (0..2).try_for_each(|_| ask(&group_by.ours).map(drop));
        for asked in all {
            self.tell(&format!("{}: {}, again", subject.name, asked.what));
            let figure = Figure::new(&subject.name, asked.what, OURS, "indexed");
            part.figures.push(match &kept {
                Ok(()) => figure.costs((0..few).map(|_| ask(&asked.ours)).collect()),
                Err(error) => figure.note(format!("nothing was kept: {error:#}")),
            });
        }
        Ok(())
    }

    fn ask_duckdb(&self, python: &Path, parquet: &Path, sql: &str) -> Result<Vec<process::Cost>> {
        let said = target().join("bench/peer.stdout");
        let mut command = Command::new(python);
        command.args(["-c", ASK_DUCKDB]).arg(parquet).arg(sql);
        let once = || {
            let cost = process::measure_within(&command, self.limits(), Some(&said))?;
            let seconds = super::tools::last_number(&fs::read_to_string(&said)?)?;
            // What its process took in all has Python's start in it.
            Ok(process::Cost { seconds, cpu_seconds: None, ..cost })
        };
        (0..self.preset.runs).map(|_| once()).collect()
    }
}

/// A Python that has DuckDB, set up at the first use.
fn duckdb() -> Result<PathBuf> {
    let folder = target().join("peers/duckdb");
    let python = folder.join("venv/bin/python");
    if !folder.join("ready").is_file() {
        talk(&format!("installing duckdb {VERSION} into {}", folder.display()));
        fs::create_dir_all(&folder)?;
        run_command(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
        run_command(Command::new(&python).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            &format!("duckdb=={VERSION}"),
        ]))?;
        fs::write(folder.join("ready"), "")?;
    }
    ensure!(python.is_file(), "there is no {}", python.display());
    Ok(python)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_asked_where_the_length_is_known() {
        assert!(questions(None).iter().all(|asked| asked.what != WINDOW));
        let all = questions(Some([500, 501]));
        let window = all.iter().find(|asked| asked.what == WINDOW).unwrap();
        assert!(window.ours.contains("start_ps >= 500 AND start_ps < 501") && window.ours == window.theirs);
    }
}

//! Every answer on every fixture, written as bytes and read back: the same JSON, the same tables, the same value.

use std::path::{Path, PathBuf};

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::present::{self, Layout};
use haloscope_report::scope::Scope;
use haloscope_report::{Report, codec as kept};
use haloscope_time::analysis::{self, Others, Params};

use crate::support;

/// Everything that the project has to ask about: profiles, programs, flags, traces in JSON.
fn inputs() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut found = Vec::new();
    for folder in ["runs", "hlo", "flags", "trace-json"] {
        for item in std::fs::read_dir(fixtures.join(folder)).unwrap() {
            found.push(item.unwrap().path());
        }
    }
    found.sort();
    found
}

/// What people see: JSON, tables, Markdown.
fn shown(report: &Report) -> Vec<String> {
    let layout = Layout { width: 100, limit: 0, colour: true, only: None, ..Layout::default() };
    let mut all = vec![report.to_json(), format!("{report:?}")];
    for write in [present::table, present::markdown] {
        let mut out = Vec::new();
        write(report, &layout, &mut out).unwrap();
        all.push(String::from_utf8(out).unwrap());
    }
    all
}

fn holds(profile: &Profile, scope: &Scope, what: &str) -> usize {
    let mut count = 0;
    for analysis in analyses::ALL {
        let others: &[&Profile] = if analysis.others() == Others::None { &[] } else { &[profile] };
        let answer = analysis::run_with(analysis, profile, others, scope, &Params::default());
        let Ok(report) = answer else { continue };
        let bytes = kept::to_bytes(&report).unwrap_or_else(|| panic!("{what}: {} is not kept", analysis.id));
        let back = kept::from_bytes(&bytes).unwrap_or_else(|| panic!("{what}: {} is not read", analysis.id));
        assert!(shown(&report) == shown(&back), "{what}: {}", analysis.id);
        count += 1;
    }
    count
}

#[test]
fn every_answer_comes_back_from_bytes_as_it_was() {
    let mut count = 0;
    for path in inputs() {
        let Ok(profile) = load::find(&path).and_then(|run| load::open(&run)) else { continue };
        count += holds(&profile, &Scope::default(), &path.display().to_string());
    }
    assert!(count > 250, "only {count} answers");
}

#[test]
fn so_do_answers_about_a_part() {
    let profile = support::open("tpu-train");
    for words in [[("steady", "1")], [("steps", "2-3")], [("window", "1ms..2ms")]] {
        assert!(holds(&profile, &support::scope(&words), words[0].0) > 10);
    }
}

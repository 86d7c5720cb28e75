//! `haloscope xprof`: exit codes, stdout and stderr. What each tool says is tested where it lives.

use haloscope_compat::{Params, TOOLS, answer};
use haloscope_profile::load;

use crate::support::{FIXTURES, process, root};

#[test]
fn a_wrong_question_is_refused_before_anything_is_read() {
    let outcome = process(&["xprof", "nothing", "no/such/folder"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("there is no tool `nothing`; there are: "), "{}", outcome.stderr);
    let Some(tool) = TOOLS.first() else { return };
    let outcome = process(&["xprof", tool.id, FIXTURES[0], "-p", "nothing=1"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("unknown parameter `nothing`; there are: "), "{}", outcome.stderr);
    let outcome = process(&["xprof", tool.id, FIXTURES[0], "-p", "group_by"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("expected key=value"), "{}", outcome.stderr);
    let outcome = process(&["xprof", tool.id, FIXTURES[0], "-p", "host=nobody"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("there is no host `nobody`"), "{}", outcome.stderr);
    let outcome = process(&["xprof", tool.id, "no/such/folder"]);
    assert_eq!(outcome.code, 3);
}

#[test]
fn stdout_is_the_answer_and_nothing_else() {
    let run = root().join(FIXTURES[0]);
    let profile = load::open(&load::find(&run).unwrap()).unwrap();
    for tool in TOOLS {
        let outcome = process(&["xprof", tool.id, FIXTURES[0]]);
        match answer(&profile, tool.id, &Params::default()) {
            Ok(expected) => {
                assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{}", tool.id);
                assert!(outcome.stdout == String::from_utf8_lossy(&expected.body), "{}", tool.id);
            }
            Err(error) => {
                assert_eq!(
                    (outcome.code, outcome.stdout.as_str()),
                    (i32::from(error.exit_code()), ""),
                    "{}",
                    tool.id
                );
                assert!(outcome.stderr.contains(&error.to_string()), "{}: {}", tool.id, outcome.stderr);
            }
        }
    }
}

#[test]
fn help_names_every_tool_and_parameter() {
    let outcome = process(&["xprof", "--help"]);
    assert_eq!(outcome.code, 0);
    for tool in TOOLS {
        let ids = tool.params.iter().map(|param| param.id).chain([tool.id]);
        for id in ids {
            assert!(outcome.stdout.contains(id), "{}: {id}", tool.id);
        }
    }
}

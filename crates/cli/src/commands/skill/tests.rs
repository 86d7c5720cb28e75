use std::collections::BTreeSet;

use super::*;

/// Words between backticks that are neither tools nor analyses nor commands: fields, statuses, verdicts, HLO.
const OTHER_WORDS: &[&str] = &[
    "look",
    "faster",
    "unchanged",
    "undecided",
    "steps_to_decide",
    "not comparable",
    "measured",
    "derived",
    "estimated",
    "unknown",
    "left_out",
    "ops",
    "_ps",
    "_bytes",
    "_share",
    "expect",
    "claim",
    "fusion.123",
    "fusion.98",
    "convolution fusion",
    "jvp(",
    "transpose(jvp(",
    "rematted_computation",
    "while",
    "call",
    "conditional",
    "-start",
    "-done",
    ".xplane.pb",
    "/mcp",
    "~",
    "jax.profiler.trace",
    "jax.profiler.StepTraceAnnotation",
    "haloscope ANALYSIS RUN --format json",
    "query(analysis, table, where, group, columns, sort, limit)",
];

fn run_in(words: &[&str]) -> Result<u8, Failure> {
    let matches = command().try_get_matches_from(words).expect("a command line");
    run(&matches, &mut Printer::new(Box::new(io::sink()), Box::new(io::sink())))
}

#[test]
fn the_guide_is_short_and_has_its_front_matter() {
    let guide = guide();
    assert!(guide.lines().count() < 200, "{} lines", guide.lines().count());
    let front =
        guide.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("front matter").0;
    assert!(front.starts_with("name: haloscope\ndescription: "));
    let description = front.lines().nth(1).expect("a description");
    assert!(description.len() < 1024, "agents refuse longer ones");
}

#[test]
fn all_that_the_guide_names_exists() {
    let tools = haloscope_mcp::tools::all();
    let mut known: BTreeSet<String> = OTHER_WORDS.iter().map(|word| (*word).to_owned()).collect();
    for tool in &tools {
        known.insert(tool.name.clone());
        let properties = tool.input.get("properties").and_then(serde_json::Value::as_object);
        known.extend(properties.into_iter().flatten().map(|(name, _)| name.clone()));
    }
    known.extend(analyses::ALL.iter().flat_map(|analysis| {
        [analysis.slug(), analysis.id.rsplit(' ').next().unwrap_or_default().to_owned()]
    }));
    let commands: Vec<String> = crate::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
    // Code blocks hold examples of queries, which have tests of their own.
    let guide = guide();
    let prose: String = guide.lines().filter(|line| !line.starts_with("    ")).collect::<Vec<_>>().join("\n");
    for word in prose.split('`').skip(1).step_by(2) {
        if known.contains(word) {
            continue;
        }
        let command = word.strip_prefix("haloscope ").and_then(|rest| rest.split(' ').next());
        assert!(
            command.is_some_and(|name| commands.iter().any(|c| c == name)),
            "`{word}` is nothing that exists"
        );
    }
    for tool in &tools {
        assert!(
            guide.contains(&format!("`{}`", tool.name)),
            "the guide does not say when to use `{}`",
            tool.name
        );
    }
}

#[test]
fn every_analysis_stands_in_the_guide_with_its_tool() {
    let guide = guide();
    assert!(!guide.contains("<!--"), "the place of the table is filled");
    for analysis in analyses::ALL {
        let row = guide.lines().find(|line| line.starts_with(&format!("| {} | `", analysis.question)));
        let row = row.unwrap_or_else(|| panic!("{} is not in the guide", analysis.id));
        assert!(
            tool_of(analysis.id).split([' ', '=']).all(|word| row.contains(&format!("`{word}`"))),
            "{row}"
        );
    }
}

#[test]
fn a_guide_that_somebody_changed_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("a/b");
    let words = |force: bool| {
        let mut words = vec!["skill", "install", place.to_str().expect("a path")];
        words.extend(force.then_some("--force"));
        run_in(&words)
    };
    let path = place.join(NAME);
    assert_eq!(state(&path).expect("a state"), State::Missing);
    assert!(matches!(words(false), Ok(0)));
    assert_eq!(state(&path).expect("a state"), State::Current);
    assert!(matches!(words(false), Ok(0)), "twice is as good as once");

    let mine = fs::read_to_string(&path).expect("the guide").replace("## The loop", "## My loop");
    fs::write(&path, &mine).expect("written");
    assert!(
        matches!(words(false), Err(Failure::Usage(message, hint)) if message.contains("edited") && hint.contains("--force"))
    );
    assert_eq!(fs::read_to_string(&path).expect("the guide"), mine);
    assert!(matches!(words(true), Ok(0)));
    assert_eq!(state(&path).expect("a state"), State::Current);

    // What a former version wrote, and nobody touched, makes way.
    let former = "---\nname: haloscope\n---\nold\n";
    fs::write(&path, format!("{former}\n{MARK}{:016x} -->\n", sum(former))).expect("written");
    assert_eq!(state(&path).expect("a state"), State::Older);
    assert!(matches!(words(false), Ok(0)));
    assert_eq!(fs::read_to_string(&path).expect("the guide"), installed());
    fs::write(&path, [0xff, 0xfe, 0x00]).expect("written");
    assert!(matches!(words(false), Err(Failure::Usage(..))), "what is not text is not ours");
}

#[test]
fn show_prints_what_install_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(&["skill", "install", folder.path().to_str().expect("a path")]).expect("installed");
    let written = fs::read_to_string(folder.path().join(NAME)).expect("the guide");
    assert!(written.starts_with(&guide()));
}

//! Kernels of a compiler's dump, what differs between two kernels, gates of kernels, and what a diagnosis says of them.

use std::fs;
use std::path::{Path, PathBuf};

use haloscope_analyses as analyses;
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Error, Report};
use haloscope_time::analysis::{self, Params};

use crate::snapshots::render;
use crate::support::{has_note, number, row_of, unknown, words};

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kernels")
}

fn opened(path: &Path) -> Profile {
    load::open(&load::find(path).unwrap()).unwrap()
}

fn kernel(name: &str) -> Profile {
    opened(&fixtures().join(format!("{name}.xplane.pb.gz")))
}

fn dump(name: &str) -> Profile {
    opened(&fixtures().join(format!("{name}.dump")))
}

fn ask(profile: &Profile, id: &str, params: &[(&str, &str)]) -> Result<Report, Error> {
    ask_with(profile, &[], id, params)
}

fn ask_with(
    profile: &Profile,
    others: &[&Profile],
    id: &str,
    params: &[(&str, &str)],
) -> Result<Report, Error> {
    let mut given = Params::default();
    params.iter().for_each(|(key, value)| given.set(key, value));
    analysis::run_with(analyses::find(id).unwrap(), profile, others, &Scope::default(), &given)
}

fn found(report: &Report) -> Vec<&'static str> {
    report.findings.iter().map(|finding| finding.id).collect()
}

/// The verdict of a rule.
fn verdict<'r>(report: &'r Report, rule: &str) -> &'r str {
    let table = report.table("checks").unwrap();
    let row = row_of(table, &rule.replace('_', " "));
    table.cell(row, "verdict").and_then(Cell::as_text).unwrap()
}

#[test]
fn a_dump_is_looked_into_as_a_profile_is() {
    let (profile, dump) = (kernel("product.v6e"), dump("product.v6e"));
    assert!(dump.is_program());
    for id in ["kernel", "kernel regions", "kernel opcodes", "kernel registers"] {
        let (a, b) = (ask(&profile, id, &[]).unwrap(), ask(&dump, id, &[]).unwrap());
        assert_eq!(a.tables, b.tables, "{id}");
        let of = |report: &Report| report.values.iter().map(|v| (v.id, v.value.clone())).collect::<Vec<_>>();
        assert_eq!(of(&a), of(&b), "{id}");
    }
    let list = ask(&dump, "kernel list", &[]).unwrap();
    assert_eq!(list.tables[0].rows.len(), 1, "what frames the program is no op of it");
    row_of(&list.tables[0], "jit_product(0)::product.1");
    // The HLO of the same folder is a program as before.
    assert!(number(&ask(&dump, "kernel grid", &[]).unwrap(), "grid_steps") == 32.0);
    assert!(number(&ask(&dump, "inspect", &[]).unwrap(), "modules") == 1.0);
}

#[test]
fn one_message_of_a_dump_is_a_run_whatever_it_is_called() {
    let files =
        fs::read_dir(fixtures().join("product.v6e.dump")).unwrap().flatten().map(|entry| entry.path());
    let message = files
        .filter(|path| path.to_string_lossy().ends_with("llo_module.pb.gz"))
        .find(|path| path.to_string_lossy().contains("product.1"))
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["anything.pb.gz", "llo_module.pb.gz"] {
        let copy = folder.path().join(name);
        fs::copy(&message, &copy).unwrap();
        let report = ask(&opened(&copy), "kernel", &[]).unwrap();
        assert_eq!(words(&report, "kernel"), "jit_product(0)::product.1", "{name}");
    }
    // Of the folder only what is called so is taken.
    assert_eq!(ask(&opened(folder.path()), "kernel list", &[]).unwrap().tables[0].rows.len(), 1);
    // A message that is cut is an error that says where.
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(
        &mut flate2::read::GzDecoder::new(fs::File::open(&message).unwrap()),
        &mut bytes,
    )
    .unwrap();
    bytes.truncate(bytes.len() / 2);
    let cut = load::from_bytes("x.pb", bytes);
    assert!(matches!(cut, Err(Error::Input { message, .. }) if message.contains("at byte")));
}

#[test]
fn stages_say_what_spills_cost() {
    let profile = dump("norm.v5e");
    insta::with_settings!({snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("norm.v5e.dump.kernel-stages", render(ask(&profile, "kernel stages", &[])));
    });
    let stages = ask(&profile, "kernel stages", &[("op", "norm")]).unwrap();
    let table = stages.table("stages").unwrap();
    let bundles = |stage: &str| table.cell(row_of(table, stage), "bundles").and_then(Cell::number).unwrap();
    let cost = bundles("packed-bundles-post-ra") - bundles("packed-bundles-no-spills-fills");
    assert!(cost > 0.0, "it was made to spill where that costs");
    assert_eq!(number(&stages, "cost_bundles"), cost);
    // One quantity, one place: spills know it of the same dump.
    let spills = ask(&profile, "kernel spills", &[]).unwrap();
    assert_eq!(number(&spills, "cost_bundles"), cost);
    assert_eq!(number(&spills, "vector_spills"), number(&stages, "vector_spills"));
    assert!(!has_note(&spills, "unknown_cost"));
    // A profile has no stages, and says how to get them.
    let none = ask(&kernel("crowded.v5e"), "kernel stages", &[]);
    assert!(matches!(none, Err(Error::Nothing(message)) if message.contains("xla_jf_dump_to")));
    let wrong = ask(&profile, "kernel stages", &[("op", "softmax")]);
    assert!(matches!(wrong, Err(Error::Usage(message)) if message.contains("norm.1")));
}

#[test]
fn of_two_compilations_into_one_folder_the_last_counts() {
    let folder = tempfile::tempdir().unwrap();
    let source = fixtures().join("norm.v5e.dump");
    for entry in fs::read_dir(&source).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        fs::copy(entry.path(), folder.path().join(&name)).unwrap();
    }
    let once = ask(&opened(folder.path()), "kernel list", &[]).unwrap();
    // The same again with a later number, its schedules a bundle longer.
    for entry in fs::read_dir(&source).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((number, rest)) = name.split_once('-')
            && let Ok(number) = number.parse::<u64>()
        {
            let copy = folder.path().join(format!("{}-{rest}", number + 1));
            if rest.contains("schedule-analysis_packed-bundles-post-ra") {
                let later = folder.path().join(format!("{}-{}", number + 1, rest.trim_end_matches(".gz")));
                fs::write(later, "Schedule analysis:\n\ttotal scheduled bundles:    99999\n").unwrap();
            } else {
                fs::copy(entry.path(), copy).unwrap();
            }
        }
    }
    let twice = opened(folder.path());
    let list = ask(&twice, "kernel list", &[]).unwrap();
    assert_eq!(list.tables[0].rows, once.tables[0].rows, "an op of one name is one kernel");
    assert_eq!(number(&ask(&twice, "kernel stages", &[("op", "norm.1")]).unwrap(), "bundles"), 99_999.0);
}

#[test]
fn tracing_is_told_from_an_edit() {
    let (plain, traced, other) = (kernel("product.v6e"), kernel("product.v6e.traced"), kernel("wide.v5e"));
    let diff =
        |a: &Profile, b: &Profile, params: &[(&str, &str)]| ask_with(a, &[b], "kernel diff", params).unwrap();
    let report = diff(&plain, &traced, &[]);
    insta::with_settings!({snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("product.v6e.kernel-diff", render(ask_with(&plain, &[&traced], "kernel diff", &[])));
    });
    assert_eq!((words(&report, "difference"), words(&report, "mosaic")), ("instrumentation", "same"));
    assert!(number(&report, "bundles_delta") > 0.0 && number(&report, "traces_b") > 0.0);
    let opcodes = report.table("opcodes").unwrap();
    assert!((0..opcodes.rows.len()).all(|row| opcodes.cell(row, "traces") == Some(&Cell::Flag(true))));
    // Bundles of all regions are those of the kernels.
    let regions = report.table("regions").unwrap();
    for (column, value) in [("bundles_a", "bundles_a"), ("bundles_b", "bundles_b")] {
        let sum: f64 = crate::support::column(regions, column).iter().sum();
        assert_eq!(sum, number(&report, value));
    }
    // The same kernel of a dump and of a profile.
    let same = diff(&plain, &dump("product.v6e"), &[]);
    assert_eq!((words(&same, "difference"), words(&same, "mosaic")), ("none", "same"));
    assert_eq!(number(&same, "bundles_delta"), 0.0);
    // Another kernel, for another chip.
    let edited = diff(&plain, &other, &[]);
    assert_eq!((words(&edited, "difference"), words(&edited, "mosaic")), ("kernel", "changed"));
    assert!(has_note(&edited, "other_chip"));
    let both = diff(&other, &traced, &[]);
    assert_eq!(words(&both, "difference"), "kernel and instrumentation");
    assert!(has_note(&both, "edited_and_traced"));
    // One run alone is held against itself, and says so.
    let alone = ask(&plain, "kernel diff", &[]).unwrap();
    assert!(words(&alone, "difference") == "none" && has_note(&alone, "one_kernel"));
    let wrong = ask_with(&plain, &[&traced], "kernel diff", &[("to", "softmax")]);
    assert!(matches!(wrong, Err(Error::Usage(message)) if message.contains("jit_product(0)::product.1")));
    // Without HLO nobody knows how it is cut up.
    let of_fusion = ask(&kernel("bias.v5p"), "kernel diff", &[]).unwrap();
    assert!(unknown(&of_fusion, "mosaic"));
}

#[test]
fn kernels_are_gated_without_a_device() {
    let profile = dump("norm.v5e");
    let bundles = number(&ask(&profile, "kernel", &[]).unwrap(), "bundles");
    let claimed = |profile: &Profile, claim: &str| {
        let report = ask(profile, "check", &[("claim", claim)]).unwrap();
        words(&report, "verdict").to_owned()
    };
    assert_eq!(claimed(&profile, &format!("kernel_bundles(norm.1)<={bundles}")), "passed");
    assert_eq!(claimed(&profile, &format!("kernel_bundles(norm) < {bundles}")), "failed");
    assert_eq!(claimed(&profile, "kernel_spills(norm)==0"), "failed");
    assert_eq!(claimed(&profile, "kernel_spill_cost(norm)>0; kernel_fills(norm)>0"), "passed");
    assert_eq!(claimed(&profile, "kernel_vmem(norm) <= 16MiB"), "passed");
    assert_eq!(claimed(&profile, "kernel_vmem(jit_norm(0)::norm.1) <= 1KiB"), "failed");
    assert_eq!(
        claimed(&profile, "kernel_registers(norm)<=64;kernel_hot_bundles(norm)>1;kernel_modelled(norm)>1"),
        "passed"
    );
    // What nobody can tell does not pass: no such kernel, no LLO, no dump.
    assert_eq!(claimed(&profile, "kernel_bundles(softmax)<=99999"), "unknown");
    assert_eq!(claimed(&kernel("crowded.v5e"), "kernel_spill_cost(crowded)<=99999"), "unknown");
    assert_eq!(claimed(&crate::support::open("tpu-train"), "kernel_bundles(fusion)<=99999"), "unknown");
    assert_eq!(
        claimed(&kernel("crowded.v5e"), "kernel_bundles(crowded)<=99999"),
        "passed",
        "a profile has them too"
    );
    // Budgets take the same names.
    let budget = "[\"kernel_bundles(norm)\"]\nmax = 10\n";
    let report = ask(&profile, "check", &[("budget", budget)]).unwrap();
    assert_eq!(words(&report, "verdict"), "failed");
    for (claim, hint) in [
        ("kernel_cycles(norm)<=1", "kernel_bundles(KERNEL)"),
        ("kernel_bundles()<=1", "names no kernel"),
        ("kernel_vmem(norm)<=12", "a size with its unit"),
    ] {
        let wrong = ask(&profile, "check", &[("claim", claim)]);
        assert!(matches!(wrong, Err(Error::Usage(message)) if message.contains(hint)), "{claim}");
    }
}

#[test]
fn a_claim_about_several_kernels_is_one_about_each() {
    // One compilation of two kernels: the messages of both beside each other, as the compiler leaves them.
    let folder = tempfile::tempdir().unwrap();
    for (dump, number) in [("norm.v5e", 2), ("product.v6e", 4)] {
        for entry in fs::read_dir(fixtures().join(format!("{dump}.dump"))).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(rest) = name.strip_prefix("2-").filter(|rest| rest.contains("llo_module")) {
                fs::copy(entry.path(), folder.path().join(format!("{number}-{rest}"))).unwrap();
            }
        }
    }
    let both = opened(folder.path());
    let of = |name: &str| number(&ask(&both, "kernel", &[("op", name)]).unwrap(), "bundles");
    let (norm, product) = (of("norm.1"), of("product.1"));
    let (least, most) = (norm.min(product), norm.max(product));
    assert!(least + 1.0 < most);
    let claimed = |claim: &str| {
        let report = ask(&both, "check", &[("claim", claim)]).unwrap();
        words(&report, "verdict").to_owned()
    };
    let between = ((least + most) / 2.0).floor();
    for (claim, verdict) in [
        (format!("kernel_bundles(jit)<={most}"), "passed"),
        (format!("kernel_bundles(jit)<{most}"), "failed"),
        (format!("kernel_bundles(jit)<={between}"), "failed"),
        (format!("kernel_bundles(jit)>={least}"), "passed"),
        (format!("kernel_bundles(jit)>{least}"), "failed"),
        // The largest alone reaches it.
        (format!("kernel_bundles(jit)>={between}"), "failed"),
        (format!("kernel_bundles(jit)=={most}"), "failed"),
        (format!("kernel_bundles(jit)=={least}"), "failed"),
        (format!("kernel_bundles(jit)!={least}"), "failed"),
        (format!("kernel_bundles(jit)!={between}"), "passed"),
        // Of one of both alone.
        (format!("kernel_bundles(norm)=={norm}"), "passed"),
        (format!("kernel_bundles(product)=={product}"), "passed"),
        // There are no dumps of its stages: of neither anybody knows.
        ("kernel_spill_cost(jit)>=0".to_owned(), "unknown"),
    ] {
        assert_eq!(claimed(&claim), verdict, "{claim}");
    }
    let said = ask(&both, "check", &[("claim", &format!("kernel_bundles(jit)>={between}"))]).unwrap();
    let row = said.table("claims").unwrap();
    let why = row.cell(0, "why").and_then(Cell::as_text).unwrap();
    assert!(why.contains("the smallest of 2"), "{why}");
    assert_eq!(row.cell(0, "value").and_then(Cell::number), Some(least));
    for (budget, verdict) in [
        (format!("max = {most}"), "passed"),
        (format!("max = {between}"), "failed"),
        (format!("min = {least}"), "passed"),
        (format!("min = {between}"), "failed"),
    ] {
        let text = format!("[\"kernel_bundles(jit)\"]\n{budget}\n");
        let report = ask(&both, "check", &[("budget", &text)]).unwrap();
        assert_eq!(words(&report, "verdict"), verdict, "{budget}");
    }
}

#[test]
fn kernels_are_diagnosed_without_a_timeline() {
    let report = |profile: &Profile| ask(profile, "diagnose", &[]).unwrap();
    let product = report(&kernel("product.v6e"));
    assert!(has_note(&product, "no_timeline"));
    // Blocks of 128 x 256 x 128 in units of 256 x 256, and steps that mostly wait.
    for rule in ["kernel_mxu_shape", "kernel_empty_bundles", "kernel_small_blocks"] {
        assert_eq!(verdict(&product, rule), "found", "{rule}");
    }
    assert_eq!(verdict(&product, "kernel_instrumented"), "clear");
    assert!(product.findings.iter().all(|finding| finding.speedup.is_none()), "nobody measured anything");
    assert_eq!(verdict(&report(&kernel("product.v6e.traced")), "kernel_instrumented"), "found");
    // Whole units, and a loop that is busy.
    let wide = report(&kernel("wide.v5e"));
    for rule in ["kernel_mxu_shape", "kernel_empty_bundles", "kernel_small_blocks", "kernel_loads"] {
        assert_eq!(verdict(&wide, rule), "clear", "{rule}");
    }
    assert_eq!(verdict(&report(&kernel("turned.v5e")), "kernel_relayouts"), "found");
    assert_eq!(verdict(&wide, "kernel_relayouts"), "clear");
    // Twelve arrays are read for each product.
    let summed = report(&kernel("summed.v5e"));
    assert_eq!(verdict(&summed, "kernel_loads"), "found");
    assert_eq!(verdict(&wide, "kernel_copies"), "clear");
    // A spill alone is no finding: what it costs is known of a dump.
    assert_eq!(verdict(&report(&kernel("crowded.v5e")), "kernel_spill_cost"), "unknown");
    let norm = report(&dump("norm.v5e"));
    assert!(found(&norm).contains(&"kernel_spill_cost"));
    assert_eq!(verdict(&norm, "kernel_copies"), "found", "4 MiB in and 4 MiB out for little work");
    // What XLA made has no blocks of its author's.
    let fusion = report(&kernel("bias.v5p"));
    for rule in ["kernel_mxu_shape", "kernel_small_blocks", "kernel_copies", "kernel_loads"] {
        assert_eq!(verdict(&fusion, rule), "does not apply", "{rule}");
    }
}

/// A folder of kernels that are not part of the project, or `None`, said aloud.
fn corpus() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/llo-kernels");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} is not here", folder.display());
    None
}

#[test]
fn dumps_beside_the_checkout_have_the_lengths_that_are_known() {
    let Some(corpus) = corpus() else { return };
    let mut looked_at = 0;
    for folder in fs::read_dir(corpus).unwrap().flatten().map(|entry| entry.path()) {
        let Ok(facts) = fs::read_to_string(folder.join("facts.json")) else { continue };
        let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
        let dumped = folder.join("dump");
        // Kernels of SparseCores leave an empty folder.
        if !fs::read_dir(&dumped).is_ok_and(|mut files| files.next().is_some()) {
            continue;
        }
        let profile = opened(&dumped);
        for (name, facts) in facts.as_object().unwrap() {
            let Some(schedule) = facts["schedule"].as_object() else { continue };
            let report = ask(&profile, "kernel stages", &[("op", name)]).unwrap();
            let table = report.table("stages").unwrap();
            for (stage, expected) in schedule {
                let row = row_of(table, stage);
                for (column, key) in [("bundles", "total"), ("empty", "empty")] {
                    let found = table.cell(row, column).and_then(Cell::number);
                    assert_eq!(found, expected[key].as_f64(), "{}: {name}, {stage}", folder.display());
                }
            }
            let sum = |key: &str| facts[key].as_f64().unwrap();
            assert_eq!(number(&report, "vector_spills"), sum("spill_stores"), "{name}");
            assert_eq!(number(&report, "vector_fills"), sum("spill_fills"), "{name}");
            let of = |stage: &str| schedule[stage]["total"].as_f64().unwrap();
            let cost = of("packed-bundles-post-ra") - of("packed-bundles-no-spills-fills");
            assert_eq!(number(&report, "cost_bundles"), cost, "{name}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 20, "{looked_at}");
}

#[test]
fn kernels_beside_the_checkout_are_told_apart() {
    let Some(corpus) = corpus() else { return };
    let of = |name: &str| opened(&corpus.join(name).join("xspace.pb.gz"));
    for name in ["copy_pipeline_v6e", "mm_scoped_v6e"] {
        let report = ask_with(&of(name), &[&of(&format!("{name}_traced"))], "kernel diff", &[]).unwrap();
        assert_eq!(words(&report, "difference"), "instrumentation", "{name}");
    }
    let report =
        ask_with(&of("copy_pipeline_v6e"), &[&of("copy_pipeline_v6e_traced")], "kernel diff", &[]).unwrap();
    assert_eq!((number(&report, "bundles_a"), number(&report, "bundles_b")), (155.0, 198.0));
    let edited = ask_with(&of("mm_256_v5e"), &[&of("mm_512_v5e")], "kernel diff", &[]).unwrap();
    assert_eq!((words(&edited, "difference"), words(&edited, "mosaic")), ("kernel", "changed"));
    // Every kernel is diagnosed, with no gain that nobody measured.
    for folder in fs::read_dir(&corpus).unwrap().flatten().map(|entry| entry.path()) {
        let file = folder.join("xspace.pb.gz");
        if !file.is_file() {
            continue;
        }
        match ask(&opened(&file), "diagnose", &[]) {
            Ok(report) => assert!(report.findings.iter().all(|finding| finding.speedup.is_none())),
            Err(Error::Nothing(why)) => assert!(folder.to_string_lossy().contains("sc_"), "{why}"),
            Err(other) => panic!("{}: {other}", folder.display()),
        }
    }
}

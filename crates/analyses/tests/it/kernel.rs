//! `kernel` and its family, on kernels of our own, with a timeline and without.

use std::io::Read;
use std::path::PathBuf;

use haloscope_analyses as analyses;
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Error, Report};
use haloscope_time::analysis::{self, Params};
use haloscope_xspace::SpaceView;
use haloscope_xspace::write::Space;

use crate::made::{Made, US, bytes};
use crate::snapshots::render;
use crate::support::{column, has_note, near, number, row_of, unknown, words};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/kernels/{name}.xplane.pb.gz"))
}

fn open(name: &str) -> Profile {
    load::open(&load::find(&path(name)).unwrap()).unwrap()
}

/// A kernel with a timeline: its op in each of these programs, for so long each time.
fn timed(name: &str, op: &str, programs: &[(&str, i64)], each_ps: &[i64]) -> Profile {
    counted(name, op, programs, each_ps, &[])
}

/// The same with samples of units: the unit, start, duration, and its use in percent.
fn counted(
    name: &str,
    op: &str,
    programs: &[(&str, i64)],
    each_ps: &[i64],
    samples: &[(&str, i64, i64, f64)],
) -> Profile {
    let mut packed = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path(name)).unwrap()).read_to_end(&mut packed).unwrap();
    let mut space = Space::from(&SpaceView::parse(&packed));
    let mut tpu = Made::tpu(0);
    let mut at = 0;
    let mut lines: [Vec<(i64, i64, i64)>; 2] = [Vec::new(), Vec::new()];
    for (program, id) in programs {
        let module = tpu.meta(&format!("{program}({id})"), &[]);
        let id = haloscope_xspace::write::Value::Uint(*id as u64);
        let category = haloscope_xspace::write::Value::Str("custom-call".into());
        let meta = tpu.meta(op, &[("hlo_category", category), ("program_id", id)]);
        for duration in each_ps {
            lines[0].push((module, at, *duration));
            lines[1].push((meta, at, *duration));
            at += duration + US;
        }
    }
    tpu.line("XLA Modules", 0, &lines[0]);
    tpu.line("XLA Ops", 0, &lines[1]);
    tpu.line("_counters_", 0, &[]);
    for (index, (unit, start, duration, used)) in samples.iter().enumerate() {
        tpu.event(unit, *start, *duration, &[]);
        tpu.tag(index, "% util", haloscope_xspace::write::Value::Double(*used));
    }
    let device = bytes(vec![tpu]);
    space.planes.extend(Space::from(&SpaceView::parse(&device)).planes);
    load::from_bytes("host.xplane.pb", space.to_bytes()).unwrap()
}

fn asked(profile: &Profile, id: &str, params: &[(&str, &str)]) -> Result<Report, Error> {
    let mut given = Params::default();
    params.iter().for_each(|(key, value)| given.set(key, value));
    analysis::run(analyses::find(id).unwrap(), profile, &Scope::default(), &given)
}

const FAMILY: [&str; 9] = [
    "kernel",
    "kernel list",
    "kernel regions",
    "kernel bundles",
    "kernel opcodes",
    "kernel registers",
    "kernel spills",
    "kernel source",
    "kernel diff",
];

#[test]
fn every_question_of_a_kernel() {
    insta::with_settings!({snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        for name in ["product.v6e", "crowded.v5e", "bias.v5p"] {
            let profile = open(name);
            for id in FAMILY.into_iter().filter(|id| *id != "kernel diff") {
                let slug = id.replace(' ', "-");
                insta::assert_snapshot!(format!("{name}.{slug}"), render(asked(&profile, id, &[])));
            }
        }
    });
}

#[test]
fn the_sums_of_a_kernel_agree() {
    for name in ["product.v6e", "product.v6e.traced", "crowded.v5e", "bias.v5p"] {
        let profile = open(name);
        let report = |id| asked(&profile, id, &[]).unwrap();
        let bundles = number(&report("kernel"), "bundles");
        let regions = report("kernel regions");
        assert_eq!(column(&regions.tables[0], "own_bundles").iter().sum::<f64>(), bundles, "{name}");
        let opcodes = report("kernel opcodes");
        let instructions = number(&opcodes, "instructions");
        assert_eq!(column(&opcodes.tables[0], "count").iter().sum::<f64>(), instructions, "{name}");
        assert_eq!(column(&regions.tables[0], "instructions").iter().sum::<f64>(), instructions, "{name}");
        let by_bundle = report("kernel bundles");
        assert_eq!(by_bundle.tables[0].rows.len() as f64, bundles);
        let spills = report("kernel spills");
        assert_eq!(
            column(&by_bundle.tables[0], "spills").iter().sum::<f64>(),
            number(&spills, "vector_spills"),
            "{name}"
        );
        assert_eq!(
            column(&by_bundle.tables[0], "fills").iter().sum::<f64>(),
            number(&spills, "vector_fills"),
            "{name}"
        );
        let weighted = column(&regions.tables[0], "modelled_bundles").iter().sum::<f64>();
        if !unknown(&report("kernel"), "modelled_bundles") {
            near(weighted, number(&report("kernel"), "modelled_bundles"), 1e-6 * weighted, name);
        }
    }
}

#[test]
fn a_product_is_modelled_by_its_grid() {
    let report = asked(&open("product.v6e"), "kernel", &[]).unwrap();
    assert_eq!((words(&report, "kernel"), words(&report, "chip")), ("jit_product(0)::product.1", "TPU v6e"));
    // 4 x 4 x 2 steps; a block comes a step early and leaves a step late.
    assert_eq!(number(&report, "hot_trips"), 34.0);
    let (most, least) = (number(&report, "modelled_bundles"), number(&report, "modelled_bundles_least"));
    assert!(most > 34.0 * 300.0 && least < most, "{least} to {most}");
    near(number(&report, "modelled_ps"), most / 1.751 * 1e3, most, "1.75 GHz");
    assert!(number(&report, "floor_bundles") <= number(&report, "hot_bundles"));
    assert!(unknown(&report, "measured_ps") && unknown(&report, "measured_over_modelled"), "nothing ran");
    // Two buffers of each block, and the sums: 2 x (64 + 64 + 32) KiB + 64 KiB.
    assert_eq!(number(&report, "vmem_bytes"), f64::from(2 * (64 + 64 + 32) * 1024 + 64 * 1024));
    assert_eq!(report.value("fits_twice").unwrap().value, Cell::Flag(true));
    assert_eq!(number(&report, "vmem_limit_bytes"), f64::from(32 << 20));
}

#[test]
fn what_was_measured_stands_beside_what_is_modelled() {
    let profile = timed("product.v6e", "product.1", &[("jit_product", 7)], &[10 * US, 20 * US]);
    let report = asked(&profile, "kernel", &[]).unwrap();
    near(number(&report, "measured_ps"), 15.0 * US as f64, 1.0, "the mean");
    let ratio = 15.0 * US as f64 / number(&report, "modelled_ps");
    near(number(&report, "measured_over_modelled"), ratio, 1e-9, "ratio");
    let list = asked(&profile, "kernel list", &[]).unwrap();
    let row = row_of(&list.tables[0], "jit_product(0)::product.1");
    assert_eq!(list.tables[0].cell(row, "total_ps"), Some(&Cell::Int(30 * US)));
    assert_eq!(list.tables[0].cell(row, "occurrences"), Some(&Cell::Int(2)));
}

#[test]
fn counters_of_a_kernel_stand_in_its_report() {
    // Two executions, at 0 and at 11 us; the last two samples lie between them and behind.
    let samples = [
        ("MXU", 0, 4 * US, 60.0),
        ("MXU", 4 * US, 6 * US, 10.0),
        ("MXU", 11 * US, 10 * US, 30.0),
        ("MXU", 10 * US, US, 90.0),
        ("MXU", 31 * US, 2 * US, 90.0),
    ];
    let programs = [("jit_product", 7)];
    let profile = counted("product.v6e", "product.1", &programs, &[10 * US, 20 * US], &samples);
    let report = asked(&profile, "kernel", &[]).unwrap();
    let units = report.table("measured_units").unwrap();
    assert_eq!(units.rows.len(), 1);
    let used = (4.0 * 0.6 + 6.0 * 0.1 + 10.0 * 0.3) / 20.0;
    near(column(units, "used")[0], used, 1e-9, "weighted by time");
    assert_eq!(column(units, "samples"), [3.0]);
    // Without counters there is no table, and nothing is 0.
    let profile = timed("product.v6e", "product.1", &programs, &[10 * US]);
    assert!(asked(&profile, "kernel", &[]).unwrap().table("measured_units").is_none());
}

#[test]
fn an_op_of_another_program_is_not_the_kernel() {
    let profile = timed("product.v6e", "product.1", &[("jit_other", 9)], &[10 * US]);
    let report = asked(&profile, "kernel", &[]).unwrap();
    assert!(unknown(&report, "measured_ps"));
    assert!(!has_note(&report, "several_programs"));
}

#[test]
fn of_two_programs_of_one_name_nobody_knows_whose_it_is() {
    let profile = timed("product.v6e", "product.1", &[("jit_product", 7), ("jit_product", 8)], &[10 * US]);
    let report = asked(&profile, "kernel", &[]).unwrap();
    assert!(unknown(&report, "measured_ps") && has_note(&report, "several_programs"));
}

#[test]
fn what_spills_cost_is_known_of_a_dump() {
    let profile = open("crowded.v5e");
    let report = asked(&profile, "kernel spills", &[]).unwrap();
    assert!(
        number(&report, "vector_spills") > 0.0
            && unknown(&report, "cost_bundles")
            && has_note(&report, "unknown_cost")
    );
    let bundles = number(&report, "bundles");
    let text = format!("Schedule analysis:\n\ttotal scheduled bundles:    {}\n", bundles - 7.0);
    let report = asked(&profile, "kernel spills", &[("without", &text)]).unwrap();
    assert_eq!(number(&report, "cost_bundles"), 7.0);
    assert!(!has_note(&report, "unknown_cost"));
    let wrong = asked(&profile, "kernel spills", &[("without", "nothing of the kind")]);
    assert!(matches!(wrong, Err(Error::Usage(message)) if message.contains("total scheduled bundles")));
    let none = asked(&open("bias.v5p"), "kernel spills", &[]).unwrap();
    assert!(number(&none, "vector_spills") == 0.0 && !has_note(&none, "unknown_cost"));
}

#[test]
fn a_traced_kernel_says_that_it_is_another() {
    let note = |name| has_note(&asked(&open(name), "kernel", &[]).unwrap(), "instrumented");
    assert_eq!((note("product.v6e"), note("product.v6e.traced")), (false, true));
}

#[test]
fn scopes_and_lines_have_their_bundles() {
    let source = asked(&open("product.v6e"), "kernel source", &[]).unwrap();
    let scopes = source.tables.iter().find(|t| t.id == "scopes").unwrap();
    let row = row_of(scopes, "multiply");
    // 34 trips of the grid's loop run each of its instructions.
    let cells = ["instructions", "runs"].map(|id| scopes.cell(row, id).and_then(Cell::number));
    assert_eq!(cells, [Some(64.0), Some(64.0 * 34.0)]);
    let none = asked(&open("bias.v5p"), "kernel source", &[]).unwrap();
    assert!(has_note(&none, "no_source_map"));
}

#[test]
fn what_cannot_be_answered_says_why() {
    let profile = open("product.v6e");
    let wrong = asked(&profile, "kernel", &[("op", "softmax")]);
    assert!(matches!(wrong, Err(Error::Usage(message)) if message.contains("jit_product(0)::product.1")));
    let beyond = asked(&profile, "kernel bundles", &[("first", "99999")]);
    assert!(matches!(beyond, Err(Error::Usage(message)) if message.contains("bundles 0 to")));
    for id in FAMILY {
        let none = asked(&crate::support::open("tpu-train"), id, &[]);
        assert!(matches!(none, Err(Error::Nothing(message)) if message.contains("llo_proto")), "{id}");
    }
}

#[test]
fn a_damaged_kernel_is_named() {
    let mut packed = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path("bias.v5p")).unwrap())
        .read_to_end(&mut packed)
        .unwrap();
    let mut space = Space::from(&SpaceView::parse(&packed));
    for (_, meta) in &mut space.planes[0].event_metadata {
        if let Some(haloscope_xspace::write::Value::Bytes(llo)) =
            meta.stats.first_mut().map(|stat| &mut stat.value)
        {
            let half = llo.len() / 2;
            llo.truncate(half);
        }
    }
    let profile = load::from_bytes("host.xplane.pb", space.to_bytes()).unwrap();
    let list = asked(&profile, "kernel list", &[]).unwrap();
    assert!(has_note(&list, "unreadable_kernel") && list.tables[0].rows.is_empty());
    assert!(
        matches!(asked(&profile, "kernel", &[]), Err(Error::Nothing(message)) if message.contains("at byte"))
    );
}

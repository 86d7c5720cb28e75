//! `hlo text`: a program as its compiler prints it.

use haloscope_hlo::TextOptions;

use haloscope_report::Error;
use haloscope_report::{Notes, Report, Status, Text, Unit, Value};
use haloscope_time::analysis::{Analysis, Input, MODULE, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::select::Scoped;
use haloscope_time::{programs, quality};

use super::find;

const FORM: Param = Param {
    id: "form",
    doc: "full as in a compiler dump, or short: without source positions, large constants and comments",
    kind: ParamKind::Choice(&["long", "short"]),
    default: "long",
};

const COMPUTATION: Param =
    Param { id: "computation", doc: "only the computation of this name", kind: ParamKind::Text, default: "" };

const INSTRUCTION: Param =
    Param { id: "instruction", doc: "only the instruction of this name", kind: ParamKind::Text, default: "" };

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "hlo text",
    label: "Text",
    group: MenuGroup::Programs,
    question: "What does the program look like, as XLA prints it?",
    params: &[MODULE, FORM, COMPUTATION, INSTRUCTION],
    needs: &["HLO modules in the profile, or a compiled program: an HLO proto, HLO text or a dump"],
    reads: &[Input::Profile, Input::Program],
    example: "hlo text logs --module jit_train_step --form short",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let program = programs::choose(
        profile,
        scope,
        params.text(&MODULE),
        programs::by_time(profile, asked.selection().ok()),
    )?;
    if scope.cuts_time() || !scope.devices.is_empty() {
        quality::not_used("devices, steps and windows", notes);
    }
    let module = &program.decoded.module;
    let options = match params.text(&FORM) {
        "short" => TextOptions::SHORT,
        _ => TextOptions { metadata: true, ..TextOptions::LONG },
    };
    let (text, title) = match (params.text(&COMPUTATION), params.text(&INSTRUCTION)) {
        ("", "") => (module.text(&options), format!("module {}", program.label())),
        (name, "") => {
            let found = find::computation(module, name)?;
            (module.computation_text(found, &options) + "\n", format!("computation {name}"))
        }
        (_, name) => {
            let found = find::instruction(module, name)?;
            (module.instruction_text(found, &options) + "\n", format!("instruction {name}"))
        }
    };
    let count = |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Measured, doc);
    let values = vec![
        Value::new(
            "module",
            "Module",
            Some(program.label()),
            Unit::None,
            Status::Measured,
            "Name with the program id, and the stage if the run is a dump of several.",
        ),
        Value::new(
            "fingerprint",
            "Fingerprint",
            module.fingerprint.clone(),
            Unit::None,
            Status::Measured,
            "What a profile-guided compilation recorded for the module.",
        ),
        count(
            "instructions",
            "Instructions",
            module.instructions().len(),
            "Instructions of all computations of the module.",
        ),
        count(
            "computations",
            "Computations",
            module.computations().len(),
            "Computations of the module, including bodies of fusions.",
        ),
        count("lines", "Lines", text.lines().count(), "Lines of the text."),
    ];
    Ok(Report { values, texts: vec![Text { id: "hlo", title, text }], ..Report::default() })
}

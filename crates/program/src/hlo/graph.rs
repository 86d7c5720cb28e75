//! `hlo graph`: what lies around an instruction, or how one reaches another.

use haloscope_hlo::{Direction, InstructionIdx, LinkKind, Module, Neighbourhood, Place, WalkOptions};
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use haloscope_report::Error;
use haloscope_report::{Columns, Notes, Report, Row, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, LIMIT, MODULE, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::hlo_costs::source_line;
use haloscope_time::layer::Layer;
use haloscope_time::ops::{self, Op};
use haloscope_time::programs::{self, Program};
use haloscope_time::select::Scoped;

use super::find;

const NODE: Param = Param {
    id: "node",
    doc: "the instruction in the middle, by name; a computation means its root; by default the op that took the most time, or the program's result if no times were measured",
    kind: ParamKind::Text,
    default: "",
};

const TO: Param = Param {
    id: "to",
    doc: "a second instruction: shows a shortest path to it instead of the neighbourhood",
    kind: ParamKind::Text,
    default: "",
};

const RADIUS: Param =
    Param { id: "radius", doc: "how many steps from the middle", kind: ParamKind::Count, default: "2" };

const DIRECTION: Param = Param {
    id: "direction",
    doc: "follow what is read (operands), what reads (users), or both",
    kind: ParamKind::Choice(&["both", "operands", "users"]),
    default: "both",
};

const THROUGH: Param = Param {
    id: "through",
    doc: "step into and out of fusions, loops, branches and calls, or stay in one computation (none)",
    kind: ParamKind::Choice(&["calls", "none"]),
    default: "calls",
};

const MOST: Param =
    Param { doc: "how many instructions to show, nearest first; 0 shows all", default: "500", ..LIMIT };

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "hlo graph",
    label: "Graph",
    group: MenuGroup::Programs,
    question: "What feeds an instruction and what reads it, and how does one instruction reach another?",
    params: &[MODULE, NODE, TO, RADIUS, DIRECTION, THROUGH, MOST],
    needs: &[
        "HLO modules in the profile, or a compiled program: an HLO proto, HLO text or a dump",
        "for measured times: a profile whose ops name their instructions",
    ],
    reads: &[Input::Profile, Input::Program],
    example: "hlo graph logs --node fusion.12 --radius 3 --direction operands",
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
    let module = &program.decoded.module;
    let measured = Measured::of(asked, &program);
    let centre = match params.text(&NODE) {
        "" => measured.longest(module).unwrap_or(module.computation(module.entry()).root),
        name => find::instruction(module, name)?,
    };
    let options = WalkOptions {
        direction: match params.text(&DIRECTION) {
            "operands" => Direction::Operands,
            "users" => Direction::Users,
            _ => Direction::Both,
        },
        through_calls: params.text(&THROUGH) == "calls",
        radius: params.count(&RADIUS),
        limit: Some(params.count(&MOST)).filter(|most| *most > 0).unwrap_or(usize::MAX),
    };
    let (shown, steps) = match params.text(&TO) {
        "" => (module.neighbourhood(centre, &options), None),
        name => path(module, centre, find::instruction(module, name)?, &options),
    };
    if shown.is_cut {
        notes.add(
            "nodes_left_out",
            Severity::Info,
            format!("more than {} instructions are within {} steps", options.limit, options.radius),
            "those farthest away are not shown",
            "ask for fewer steps or one direction, or raise --limit",
        );
    }
    let writer = Writer { program: &program, measured, options: &options, centre };
    let nodes = Table::of("nodes", "Instructions", shown.places.iter().map(|place| writer.row(place)));
    let edges = edges(module, &shown);
    let count =
        |id, label, n: Option<usize>, doc| Value::new(id, label, n, Unit::Count, Status::Derived, doc);
    let words =
        |id, label, text: String, doc| Value::new(id, label, Some(text), Unit::None, Status::Measured, doc);
    let values = vec![
        words("module", "Module", program.label(), "The HLO module, with the program id."),
        words("node", "Middle", module.instruction(centre).name.clone(), "The instruction in the middle."),
        count("nodes", "Instructions shown", Some(nodes.rows.len()), "Rows of the table of nodes."),
        count("edges", "Lines shown", Some(edges.rows.len()), "Rows of the table of edges."),
        count("instructions", "Instructions", Some(module.instructions().len()), "Of the module."),
        count(
            "path_steps",
            "Steps of the path",
            steps,
            "Length of a shortest path; unknown if none was asked for or there is none in this direction.",
        ),
    ];
    Ok(Report { values, tables: vec![nodes, edges], ..Report::default() })
}

/// A shortest path; without one the two ends, which nothing joins.
fn path(
    module: &Module,
    from: InstructionIdx,
    to: InstructionIdx,
    options: &WalkOptions,
) -> (Neighbourhood, Option<usize>) {
    match module.shortest_path(from, to, options.direction, options.through_calls) {
        Some(path) => {
            let steps = path.links.len();
            (path, Some(steps))
        }
        None => {
            let end = |instruction| Place { instruction, distance: 0 };
            (Neighbourhood { places: vec![end(from), end(to)], ..Neighbourhood::default() }, None)
        }
    }
}

/// The ops of a program in the profile, by name.
struct Measured<'p>(FxHashMap<String, Op<'p>>);

impl<'p> Measured<'p> {
    fn of(asked: &Scoped<'p>, program: &Program<'p>) -> Self {
        // A stage of a compilation was never run.
        let Ok(selection) = asked.selection() else { return Self(FxHashMap::default()) };
        let mut found: FxHashMap<String, Op<'p>> = FxHashMap::default();
        for op in ops::collect(asked.profile, selection) {
            if !programs::is_of(program.entry, op.meta.program_id, &op.module) {
                continue;
            }
            // Where ops state no program id, several programs of one name have ops of one name.
            match found.entry(op.meta.name.as_ref().to_owned()) {
                Entry::Vacant(free) => {
                    free.insert(op);
                }
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    known.occurrences += op.occurrences;
                    known.total_ps = known.total_ps.saturating_add(op.total_ps);
                    known.self_ps = known.self_ps.saturating_add(op.self_ps);
                }
            }
        }
        Self(found)
    }

    fn get(&self, name: &str) -> Option<&Op<'p>> {
        self.0.get(name)
    }

    /// The instruction with most self time, the first by name among equals; `None` where no instruction was measured.
    fn longest(&self, module: &Module) -> Option<InstructionIdx> {
        let known = self.0.values().filter(|op| op.self_ps > 0);
        let known = known.filter_map(|op| Some((op, module.instruction_by_name(&op.meta.name)?)));
        let most = known
            .max_by(|(a, _), (b, _)| a.self_ps.cmp(&b.self_ps).then_with(|| b.meta.name.cmp(&a.meta.name)));
        most.map(|(_, instruction)| instruction)
    }
}

struct Writer<'a, 'p> {
    program: &'a Program<'p>,
    measured: Measured<'p>,
    options: &'a WalkOptions,
    centre: InstructionIdx,
}

impl Writer<'_, '_> {
    fn row(&self, place: &Place) -> Row<impl Columns + use<>> {
        let module = &self.program.decoded.module;
        let instruction = module.instruction(place.instruction);
        let computation = module.computation(instruction.computation);
        let cost = self.program.decoded.costs.instruction(place.instruction);
        let op = self.measured.get(&instruction.name);
        let recorded = op.map(|op| op.meta.category.as_ref()).filter(|category| !category.is_empty());
        let source = instruction.metadata.as_deref().map(|m| source_line(module, m).into_owned());
        let children: usize = module
            .bodies(place.instruction)
            .iter()
            .flat_map(|body| module.reachable_computations(*body))
            .map(|inner| module.computation(inner).instructions().len())
            .sum();
        let parent = module.first_caller(instruction.computation);
        let (operands, users) = module.degree(place.instruction, self.options.through_calls);
        row![
            text("name", "Name", "The instruction.", instruction.name.as_str()),
            text("opcode", "Opcode", "What it does.", instruction.opcode_name()),
            text("shape", "Shape", "Shape of the result, with layout.", instruction.shape.to_string()),
            count(
                "distance",
                "Steps",
                "Steps from the middle, or from the start of the path.",
                place.distance
            ),
            duration(
                "self_ps",
                "Self time",
                "Measured time of all executions minus that of ops inside; unknown if nothing was measured.",
                op.map(|op| op.self_ps)
            ),
            float(
                "flops",
                "FLOPs by shapes",
                Unit::Flop,
                "FLOPs of one execution, by XLA's cost analysis. The count for the device, in `ops` and on the timeline, may differ.",
                cost.flops.map(|v| v as f64)
            ),
            bytes(
                "bytes",
                "Bytes by shapes",
                "Bytes that one execution reads and writes in any memory, by XLA's cost analysis. The count for the device, in `ops` and on the timeline, may differ.",
                cost.bytes_accessed
            ),
            text(
                "category",
                "Category",
                "As in profiles: the profile's own name if it has one.",
                recorded.unwrap_or_else(|| module.category(instruction))
            ),
            text("computation", "Computation", "The computation around it.", computation.name.as_str()),
            text(
                "op_name",
                "Framework op",
                "The scope path in JAX, PyTorch or TensorFlow.",
                instruction.op_name()
            ),
            text(
                "layer",
                "Layer",
                "A guess from the scope path.",
                instruction.op_name().and_then(Layer::of).map(|layer| layer.to_string())
            ),
            text("source", "Source", "File and line that it comes from.", source.filter(|s| !s.is_empty())),
            count(
                "occurrences",
                "Count",
                "Measured executions, summed over devices.",
                op.map(|op| op.occurrences)
            ),
            duration(
                "total_ps",
                "Total time",
                "Measured time of all executions, ops inside included.",
                op.map(|op| op.total_ps)
            ),
            bytes(
                "output_bytes",
                "Output",
                "Bytes of the result without padding.",
                instruction.shape.bytes()
            ),
            flag("centre", "Middle", "Whether it was asked for.", place.instruction == self.centre),
            flag("fused", "Fused", "Whether it is part of a fusion.", computation.is_fusion),
            text(
                "parent",
                "Inside of",
                "The first instruction that calls its computation.",
                parent.map(|caller| module.instruction(caller).name.as_str())
            ),
            count("children", "Inside", "Instructions in the computations that it calls.", children),
            count("operands", "Operands", "Lines that lead to it in the program, shown or not.", operands),
            count("users", "Users", "Instructions that read it in the program, shown or not.", users),
        ]
    }
}

fn edges(module: &Module, shown: &Neighbourhood) -> Table {
    let mut rows = Vec::new();
    for link in &shown.links {
        let from = module.instruction(link.from);
        let (kind, number) = match link.kind {
            LinkKind::Data(number) => ("data", Some(number)),
            LinkKind::Call(number) => ("call", number),
            LinkKind::Control => ("control", None),
        };
        let flows = kind != "control";
        let row = row![
            text("from", "From", "Whose value it is.", from.name.as_str()),
            text("to", "To", "Who reads it, or waits.", module.instruction(link.to).name.as_str()),
            text(
                "kind",
                "Kind",
                "data; call if a value enters or leaves a computation; control if only the order is given.",
                kind
            ),
            count(
                "operand",
                "Operand",
                "Number of the operand, or of the parameter that a call fills.",
                number.map(i64::from)
            ),
            text("shape", "Shape", "Shape of the value.", flows.then(|| from.shape.to_string())),
            bytes(
                "bytes",
                "Bytes",
                "Bytes of the value, without padding.",
                from.shape.bytes().filter(|_| flows)
            ),
        ];
        rows.push(row);
    }
    Table::of("edges", "Lines between them", rows)
}

//! `hlo search`: instructions by name, scope, opcode, shape, size or text.

use std::collections::BTreeMap;

use haloscope_hlo::{InstructionIdx, Module, TextOptions};
use rayon::prelude::*;
use regex::Regex;

use haloscope_report::Error;
use haloscope_report::{Columns, Notes, Report, Row, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, LIMIT, MODULE, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::hlo_costs::source_line;
use haloscope_time::programs::{self, Program};
use haloscope_time::quality;
use haloscope_time::select::Scoped;

const QUERY: Param = Param {
    id: "query",
    doc: "words to look for, ignoring case, or a regular expression between slashes: /fusion\\.[0-9]+$/",
    kind: ParamKind::Text,
    default: "",
};

const IN: Param = Param {
    id: "in",
    doc: "where to look for the query: the name, the framework's scope path, the instruction's text, or any of them",
    kind: ParamKind::Choice(&["name", "op-name", "text", "all"]),
    default: "all",
};

const OPCODE: Param = Param {
    id: "opcode",
    doc: "only instructions of this opcode, such as all-reduce; separate several with commas",
    kind: ParamKind::Text,
    default: "",
};

const SHAPE: Param = Param {
    id: "shape",
    doc: "only results whose shape contains this, such as bf16[8,2048 or {0,1",
    kind: ParamKind::Text,
    default: "",
};

const MIN_BYTES: Param = Param {
    id: "min-bytes",
    doc: "only results of at least this many bytes, such as 1M",
    kind: ParamKind::Quantity,
    default: "",
};

const MOST: Param = Param {
    doc: "how many instructions to list, the largest results first; 0 lists all",
    default: "200",
    ..LIMIT
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "hlo search",
    label: "Search",
    group: MenuGroup::Programs,
    question: "Which instructions match a name, a place in the source, or a shape?",
    params: &[MODULE, QUERY, IN, OPCODE, SHAPE, MIN_BYTES, MOST],
    needs: &["HLO modules in the profile, or a compiled program: an HLO proto, HLO text or a dump"],
    reads: &[Input::Profile, Input::Program],
    example: "hlo search logs --opcode copy,transpose --min-bytes 1M",
    also: &[],
    run: Run::Of(run),
};

/// Characters of an instruction that are shown.
const LONGEST: usize = 400;

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let (programs, copies) = match params.text(&MODULE) {
        "" => once_each(programs::in_scope(profile, scope)?),
        word => (
            vec![programs::choose(profile, scope, word, programs::by_time(profile, asked.selection().ok()))?],
            0,
        ),
    };
    if scope.cuts_time() || !scope.devices.is_empty() {
        quality::not_used("devices, steps and windows", notes);
    }
    let wanted = Wanted::read(params)?;
    let mut found: Vec<Found<'_>> = Vec::new();
    let mut modules = Vec::new();
    let mut all = 0;
    for (row, program) in programs.iter().enumerate() {
        let module = &program.decoded.module;
        let indices: Vec<InstructionIdx> = module.instructions().map(|(index, _)| index).collect();
        let here: Vec<InstructionIdx> =
            indices.par_iter().copied().filter(|index| wanted.takes(module, *index)).collect();
        all += indices.len();
        let found_here = row![
            text("module", "Module", "The HLO module.", program.label()),
            count("matches", "Found", "Instructions that match.", here.len()),
            count("instructions", "Instructions", "Instructions of the module.", indices.len()),
        ];
        modules.push(found_here);
        found.extend(here.into_iter().map(|index| {
            let bytes = module.instruction(index).shape.bytes();
            Found { program, row, index, bytes }
        }));
    }
    let matches = found.len();
    let opcodes = opcodes(&found);
    found.sort_by_key(|f| (std::cmp::Reverse(f.bytes), f.row, f.index));
    let rows = params.count(&MOST);
    if rows > 0 {
        found.truncate(rows);
    }
    let table =
        Table::of("instructions", "Instructions, the largest results first", found.iter().map(Found::row));
    let modules = Table::of("modules", "Modules", modules);
    let count = |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Measured, doc);
    let values = vec![
        count("matches", "Found", matches, "Instructions that match."),
        count("instructions", "Looked at", all, "Instructions of the modules."),
        count("modules", "Modules", programs.len(), "Modules looked at."),
        count("copies", "Copies left out", copies, "The same modules in the profiles of other hosts."),
    ];
    Ok(Report { values, tables: vec![table, opcodes, modules], ..Report::default() })
}

/// Programs without the copies that other hosts have of them, and how many those are.
fn once_each(programs: Vec<Program<'_>>) -> (Vec<Program<'_>>, usize) {
    let all = programs.len();
    let mut seen = std::collections::BTreeSet::new();
    let kept: Vec<_> = programs
        .into_iter()
        // Programs without an id may be different in spite of their name.
        .filter(|p| {
            let module = &p.decoded.module;
            let number = p.entry.stage.as_ref().and_then(|stage| stage.number);
            seen.insert((p.label(), number, module.instructions().len(), module.computations().len()))
        })
        .collect();
    let copies = all - kept.len();
    (kept, copies)
}

/// What is looked for.
struct Wanted<'a> {
    query: Query,
    place: &'a str,
    opcodes: Vec<&'a str>,
    shape: &'a str,
    min_bytes: Option<f64>,
}

enum Query {
    Anything,
    /// In small letters.
    Words(String),
    Pattern(Regex),
}

impl Query {
    fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Anything => true,
            Self::Words(words) => holds(text, words),
            Self::Pattern(pattern) => pattern.is_match(text),
        }
    }
}

/// Whether a text holds words that are in small letters, whatever its own.
fn holds(text: &str, words: &str) -> bool {
    if text.is_ascii() {
        return text.as_bytes().windows(words.len().max(1)).any(|w| w.eq_ignore_ascii_case(words.as_bytes()));
    }
    text.to_lowercase().contains(words)
}

impl<'a> Wanted<'a> {
    fn read(params: &'a Params) -> Result<Self, Error> {
        let text = params.text(&QUERY);
        let pattern = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let query = match (text, pattern) {
            ("", _) => Query::Anything,
            (_, Some(pattern)) => Query::Pattern(Regex::new(pattern).map_err(|error| {
                Error::Usage(format!("`query` of `hlo search`: not a regular expression: {error}"))
            })?),
            (words, None) => Query::Words(words.to_lowercase()),
        };
        Ok(Self {
            query,
            place: params.text(&IN),
            opcodes: params.text(&OPCODE).split(',').map(str::trim).filter(|o| !o.is_empty()).collect(),
            shape: params.text(&SHAPE),
            min_bytes: params.quantity(&MIN_BYTES),
        })
    }

    fn takes(&self, module: &Module, index: InstructionIdx) -> bool {
        let instruction = module.instruction(index);
        let opcode = instruction.opcode_name();
        if !self.opcodes.is_empty() && !self.opcodes.contains(&opcode) {
            return false;
        }
        if let Some(least) = self.min_bytes
            && instruction.shape.bytes().is_none_or(|bytes| (bytes as f64) < least)
        {
            return false;
        }
        if !self.shape.is_empty() && !self.shape_is_in(&instruction.shape) {
            return false;
        }
        let is_in = |place: &str| self.place == place || self.place == "all";
        let in_name = || is_in("name") && self.query.is_in(&instruction.name);
        let in_scope =
            || is_in("op-name") && instruction.op_name().is_some_and(|name| self.query.is_in(name));
        let in_text =
            || is_in("text") && self.query.is_in(&module.instruction_text(index, &TextOptions::SHORT));
        matches!(self.query, Query::Anything) || in_name() || in_scope() || in_text()
    }

    /// With and without layouts, which stand in the middle of tuples.
    fn shape_is_in(&self, shape: &haloscope_hlo::Shape) -> bool {
        shape.to_string().contains(self.shape) || format!("{shape:#}").contains(self.shape)
    }
}

struct Found<'p> {
    program: &'p Program<'p>,
    row: usize,
    index: InstructionIdx,
    bytes: Option<u64>,
}

impl Found<'_> {
    fn row(&self) -> Row<impl Columns + use<>> {
        let module = &self.program.decoded.module;
        let instruction = module.instruction(self.index);
        let source = instruction.metadata.as_deref().map(|m| source_line(module, m));
        let text = module.instruction_text(self.index, &TextOptions::SHORT);
        row![
            text("name", "Name", "The instruction.", instruction.name.as_str()),
            text("opcode", "Opcode", "What it does.", instruction.opcode_name()),
            text("shape", "Shape", "Shape of the result, with layout.", instruction.shape.to_string()),
            bytes(
                "bytes",
                "Bytes",
                "Bytes of the result without padding; a tuple counts its elements.",
                self.bytes
            ),
            text("module", "Module", "The HLO module.", self.program.label()),
            text(
                "computation",
                "Computation",
                "The computation around it.",
                module.computation(instruction.computation).name.as_str()
            ),
            text(
                "op_name",
                "Framework op",
                "The scope path in JAX, PyTorch or TensorFlow.",
                instruction.op_name()
            ),
            text(
                "source",
                "Source",
                "File and line that it comes from.",
                source.filter(|s| !s.is_empty()).map(std::borrow::Cow::into_owned)
            ),
            float(
                "flops",
                "FLOPs by shapes",
                Unit::Flop,
                "FLOPs of one execution, by the rules of XLA's cost analysis. The count for the device, in `ops` and on the timeline, may differ.",
                self.program.decoded.costs.instruction(self.index).flops.map(|v| v as f64)
            ),
            text(
                "text",
                "Text",
                "The instruction as XLA prints it, cut to 400 characters.",
                text.chars().take(LONGEST).collect::<String>()
            ),
        ]
    }
}

fn opcodes(found: &[Found<'_>]) -> Table {
    let mut counts: BTreeMap<&str, (usize, Option<u64>)> = BTreeMap::new();
    for f in found {
        let opcode = f.program.decoded.module.instruction(f.index).opcode_name();
        let (count, bytes) = counts.entry(opcode).or_insert((0, Some(0)));
        *count += 1;
        *bytes = bytes.zip(f.bytes).map(|(sum, own)| sum.saturating_add(own));
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(opcode, (count, _))| (std::cmp::Reverse(*count), *opcode));
    let mut rows = Vec::new();
    for (opcode, (count, bytes)) in counts {
        let row = row![
            text("opcode", "Opcode", "What instructions do.", opcode),
            count("matches", "Found", "Instructions that match.", count),
            bytes("bytes", "Bytes", "Bytes of their results, without padding.", bytes),
        ];
        rows.push(row);
    }
    Table::of("opcodes", "By opcode", rows)
}

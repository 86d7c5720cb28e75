//! `analyze_llo`: counts of all ops, and the source line of each instruction. XProf leaves out the counting and branching parts of loops
//! and the checks of branches; here every instruction counts.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_kernel::carried::Carried;
use haloscope_llo::{Error, Module};
use serde_json::{Map, Value, json};

use super::modes::name;

#[derive(Default)]
struct Counts {
    instructions: usize,
    registers: BTreeSet<i32>,
    opcodes: BTreeMap<String, u64>,
    units: BTreeMap<&'static str, u64>,
}

impl Counts {
    fn add(&mut self, module: &Module<'_>) {
        self.instructions += module.instructions.len();
        for instruction in &module.instructions {
            self.registers.extend(instruction.register);
            *self.opcodes.entry(name(instruction.opcode)).or_insert(0) += 1;
            *self.units.entry(instruction.opcode.unit().word()).or_insert(0) += 1;
        }
    }

    fn write(&self, into: &mut Map<String, Value>) {
        into.insert("total_instructions".into(), json!(self.instructions));
        into.insert("unique_registers".into(), json!(self.registers.len()));
        into.insert("opcode_histogram".into(), json!(self.opcodes));
        into.insert("execution_unit_summary".into(), json!(self.units));
    }
}

/// The answer about these ops.
pub(super) fn answer(kernels: &[&Carried<'_>]) -> Result<Value, (String, Error)> {
    if kernels.is_empty() {
        return Ok(json!({"success": false}));
    }
    let mut all = Counts::default();
    let (mut modules, mut sources) = (Vec::new(), Map::new());
    for kernel in kernels {
        let module = kernel.read().map_err(|error| (kernel.name.to_string(), error))?;
        let mut own = Counts::default();
        own.add(&module);
        all.add(&module);
        let mut cells = Map::new();
        cells.insert("kernel_name".into(), json!(kernel.name));
        cells.insert("hlo_instruction_name".into(), json!(module.op));
        own.write(&mut cells);
        let lines = lines(&module);
        cells.insert("source_map".into(), lines.clone());
        sources.insert(kernel.name.to_string(), lines);
        modules.push(Value::Object(cells));
    }
    let mut cells = Map::new();
    cells.insert("success".into(), json!(true));
    cells.insert("total_modules".into(), json!(modules.len()));
    all.write(&mut cells);
    let only = modules.first().filter(|_| modules.len() == 1).map(|module| module["source_map"].clone());
    cells.insert("modules".into(), Value::Array(modules));
    cells.insert("source_map_by_kernel".into(), Value::Object(sources));
    cells.extend(only.map(|lines| ("source_map".to_owned(), lines)));
    Ok(Value::Object(cells))
}

/// The source line of each id in the source map, instructions that are no more among them.
fn lines(module: &Module<'_>) -> Value {
    let mut lines = BTreeMap::new();
    if let Some(map) = &module.source_map {
        for info in &map.infos {
            let Some(line) = map.line_of(info) else { continue };
            lines.extend(info.ids.iter().map(|id| (*id, line.clone())));
        }
    }
    json!(lines)
}

//! From MLIR's text to tables: XLA writes kernels of its own, such as a softmax between two products, as text in the dialects'
//! own forms.
//!
//! An operation stands on a line of its own, and its types behind the last colon; what has regions ends in a brace. That is all
//! that is supposed of operations which have no form here. What cannot be read so is an error, never a guess.

mod attributes;
mod words;

use std::collections::BTreeMap;

use crate::attribute::Attribute;
use crate::error::Error;
use crate::ids::{AttributeId, BlockId, OpId, RegionId, StringId, TypeId, ValueId};
use crate::module::{Block, DEEPEST, Module, Op, Origin, Region, Value};
use crate::types::Type;
use words::{closing, list, split_at_top, split_types, values, without_comment};

/// Operations whose operands have words around them that say what each is for: read without those, their work would be wrong.
const NOT_READ: [&str; 3] = ["tpu.enqueue_dma", "tpu.enqueue_indirect_dma", "cf."];
/// The longest name of an operation.
const LONGEST_NAME: usize = 256;
const PREDICATES: [&str; 10] = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];

/// Whether these bytes are a module's text.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    [&b"module"[..], b"#", b"//", b"\"builtin.module\""].iter().any(|head| start.starts_with(head))
}

/// Reads a module's text.
///
/// # Errors
/// The line that cannot be read, and what was expected there.
pub(crate) fn read(text: &str) -> Result<Module, Error> {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        reader.line = index + 1;
        let line = without_comment(line).trim();
        if !line.is_empty() {
            reader.statement(line)?;
        }
    }
    if !reader.open.is_empty() || reader.module.ops.is_empty() {
        return reader.wrong("the end of the module");
    }
    Ok(reader.module)
}

/// A region that is being read.
struct Open {
    op: OpId,
    block: BlockId,
}

#[derive(Default)]
struct Reader<'a> {
    module: Module,
    line: usize,
    open: Vec<Open>,
    /// Values of the function that is read, by what they are called.
    values: BTreeMap<String, ValueId>,
    names: BTreeMap<String, u32>,
    strings: BTreeMap<String, StringId>,
    types: BTreeMap<&'a str, TypeId>,
    aliases: BTreeMap<&'a str, &'a str>,
}

/// The parts of an operation's line.
struct Line<'a> {
    results: Vec<(&'a str, usize)>,
    name: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn wrong<T>(&self, expected: &'static str) -> Result<T, Error> {
        Err(Error::Text { line: self.line, expected })
    }

    fn statement(&mut self, line: &'a str) -> Result<(), Error> {
        if let Some((name, value)) = line.split_once(" = ").filter(|_| line.starts_with('#')) {
            self.aliases.insert(name.trim(), value.trim());
            return Ok(());
        }
        if line == "}" {
            return match self.open.pop() {
                Some(_) => Ok(()),
                None => self.wrong("a brace that was opened"),
            };
        }
        if line.starts_with("} else") {
            return self.otherwise();
        }
        if line.starts_with('}') || line.starts_with('^') {
            return self.wrong("regions of one block");
        }
        if self.module.ops.is_empty() {
            return self.root(line);
        }
        if self.open.is_empty() {
            return self.wrong("the end of the text behind the module");
        }
        let line = self.parts(line)?;
        match line.name {
            "func.func" => self.function(line.rest),
            "scf.for" => self.counted_loop(&line),
            "scf.if" => self.branch(&line),
            "return" => self.plain(&Line { name: "func.return", ..line }),
            _ => self.plain(&line),
        }
    }

    fn parts(&self, line: &'a str) -> Result<Line<'a>, Error> {
        let (results, rest) = match line.strip_prefix('%').and_then(|_| line.split_once(" = ")) {
            Some((results, rest)) => (results, rest),
            None => ("", line),
        };
        let mut all = Vec::new();
        for one in results.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let (name, count) = one.split_once(':').unwrap_or((one, "1"));
            let Some(count) = count.parse().ok().filter(|count| *count <= line.len()) else {
                return self.wrong("a number of results");
            };
            all.push((name, count));
        }
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "._$".contains(c))).unwrap_or(rest.len());
        let name = &rest[..end];
        let is_named = name.contains('.') || name == "return";
        if !is_named || name.len() > LONGEST_NAME || NOT_READ.iter().any(|other| name.starts_with(other)) {
            return self.wrong("an operation that is read from text");
        }
        Ok(Line { results: all, name, rest: rest[end..].trim() })
    }

    fn root(&mut self, line: &'a str) -> Result<(), Error> {
        let Some(rest) = line.strip_prefix("module").and_then(|rest| rest.trim().strip_suffix('{')) else {
            return self.wrong("a module");
        };
        let attributes = match rest.split_once("attributes") {
            Some((_, dictionary)) => self.dictionary(dictionary.trim(), Vec::new(), 0)?,
            None => None,
        };
        self.op("builtin.module", Vec::new(), attributes, 1)?;
        self.enter(0, &[])
    }

    fn function(&mut self, rest: &'a str) -> Result<(), Error> {
        let rest = rest.strip_prefix("private ").unwrap_or(rest);
        let named = rest.strip_prefix('@').and_then(|rest| rest.split_once('('));
        let Some((name, rest)) = named else { return self.wrong("a function's name") };
        let Some(close) = closing(rest, '(', ')') else { return self.wrong("a function's arguments") };
        let (arguments, rest) = (&rest[..close], &rest[close + 1..]);
        let Some(rest) = rest.trim().strip_suffix('{') else { return self.wrong("a function's body") };
        let symbol = self.string(name.trim_matches('"'));
        let mut members = vec![("sym_name", symbol)];
        if let Some((_, dictionary)) = rest.split_once("attributes ") {
            for (key, value) in self.members(dictionary.trim(), 0)? {
                members.push((key, value));
            }
        }
        let attributes = self.dictionary("", members, 0)?;
        self.values.clear();
        self.op("func.func", Vec::new(), attributes, 1)?;
        let mut known = Vec::new();
        for argument in list(arguments) {
            let Some((name, ty)) = argument.split_once(':') else { return self.wrong("an argument's type") };
            // Attributes of an argument stand behind its type.
            let ty = ty.trim();
            let end = ty.find(" {").unwrap_or(ty.len());
            known.push((name.trim(), self.ty(&ty[..end], 0)?));
        }
        self.enter(0, &known)
    }

    /// `scf.for %i = %a to %b step %c [iter_args(%x = %y) -> (T)] [: T] {`
    fn counted_loop(&mut self, line: &Line<'a>) -> Result<(), Error> {
        let Some(rest) = line.rest.strip_suffix('{') else { return self.wrong("a loop's body") };
        let head = rest.split_once(" = ").and_then(|(at, rest)| {
            let (lower, rest) = rest.split_once(" to ")?;
            let (upper, rest) = rest.split_once(" step ")?;
            let (step, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            Some((at.trim().trim_start_matches("unsigned "), [lower, upper, step], rest))
        });
        let Some((at, bounds, rest)) = head else { return self.wrong("a loop's bounds") };
        let mut operands = Vec::new();
        for bound in bounds {
            operands.push(self.value(bound.trim())?);
        }
        let mut arguments = vec![(at, self.module.type_id(operands[0]).unwrap_or(TypeId(0)))];
        let mut types = Vec::new();
        if let Some(carried) = rest.trim().strip_prefix("iter_args(") {
            let Some(close) = closing(carried, '(', ')') else { return self.wrong("what a loop carries") };
            let after = carried[close + 1..].trim().strip_prefix("->").unwrap_or_default().trim();
            let end = match after.strip_prefix('(') {
                Some(inner) => closing(inner, '(', ')').map_or(after.len(), |close| close + 2),
                None => after.len(),
            };
            types = self.types(&after[..end])?;
            for (index, one) in list(&carried[..close]).enumerate() {
                let (Some((name, value)), Some(ty)) = (one.split_once('='), types.get(index)) else {
                    return self.wrong("a carried value and its type");
                };
                operands.push(self.value(value.trim())?);
                arguments.push((name.trim(), *ty));
            }
        }
        let op = self.op("scf.for", operands, None, 1)?;
        self.results(op, &line.results, &types)?;
        self.enter(0, &arguments)
    }

    /// `scf.if %c [-> (T)] {`
    fn branch(&mut self, line: &Line<'a>) -> Result<(), Error> {
        let Some(rest) = line.rest.strip_suffix('{') else { return self.wrong("a branch's body") };
        let (condition, types) = rest.split_once("->").unwrap_or((rest, ""));
        let operands = vec![self.value(condition.trim())?];
        let types = self.types(types.trim())?;
        let op = self.op("scf.if", operands, None, 2)?;
        self.results(op, &line.results, &types)?;
        self.enter(0, &[])
    }

    fn otherwise(&mut self) -> Result<(), Error> {
        let Some(Open { op, .. }) = self.open.pop() else { return self.wrong("a branch before an else") };
        let second = self.module.op(op).regions().nth(1);
        match second {
            Some(region) if self.module.region(region).blocks().len() == 0 => self.enter_of(op, 1, &[]),
            _ => self.wrong("a branch before an else"),
        }
    }

    /// An operation whose types stand behind the last colon, with one region where it ends in a brace.
    fn plain(&mut self, line: &Line<'a>) -> Result<(), Error> {
        let (rest, is_open) = match line.rest.strip_suffix('{') {
            Some(rest) => (rest.trim(), true),
            None => (line.rest, false),
        };
        let (before, types) = split_types(rest);
        let mut operands = Vec::new();
        for name in values(before) {
            operands.push(self.value(name)?);
        }
        // The text has the place first, bytecode the value.
        if line.name == "tpu.vector_store" && operands.len() > 1 {
            let value = before.rfind(']').map_or(1, |end| values(&before[..end]).count());
            if value < operands.len() {
                let value = operands.remove(value);
                operands.insert(0, value);
            }
        }
        let results = self.result_types(line, before, types)?;
        let mut members = Vec::new();
        match line.name {
            "arith.cmpi" => {
                let word = before.split(',').next().unwrap_or_default().trim();
                let Some(code) = PREDICATES.iter().position(|known| *known == word) else {
                    return self.wrong("a comparison");
                };
                members.push(("predicate", self.integer(code as i64, "i64")?));
            }
            "arith.constant" => {
                let number = match before.trim() {
                    "true" => Some(1),
                    "false" => Some(0),
                    word => word.parse().ok(),
                };
                let ty = results.first().copied().unwrap_or(TypeId(0));
                let value = match (number, self.module.ty(ty)) {
                    (Some(value), Type::Integer { .. } | Type::Index) => Attribute::Integer { ty, value },
                    _ => Attribute::Text(before.trim().into()),
                };
                members.push(("value", self.attribute(value)));
            }
            _ => {}
        }
        let dictionary = before.find('{').filter(|_| line.name != "arith.constant");
        let attributes = self.dictionary(dictionary.map_or("", |at| &before[at..]), members, 0)?;
        let op = self.op(line.name, operands, attributes, usize::from(is_open))?;
        self.results(op, &line.results, &results)?;
        if is_open { self.enter(0, &[]) } else { Ok(()) }
    }

    /// Types of results: behind an arrow, `to` or `into`; else the last one that stands there.
    fn result_types(&mut self, line: &Line<'a>, before: &str, types: &'a str) -> Result<Vec<TypeId>, Error> {
        let count: usize = line.results.iter().map(|(_, count)| count).sum();
        if count == 0 {
            return Ok(Vec::new());
        }
        if types.is_empty() && line.name == "arith.constant" && matches!(before.trim(), "true" | "false") {
            return Ok(vec![self.ty("i1", 0)?]);
        }
        for word in [" -> ", " into ", " to "] {
            if let Some((_, results)) = split_at_top(types, word) {
                return self.types(results);
            }
        }
        let Some(last) = list(types).last().map(str::trim) else { return self.wrong("an operation's type") };
        if count > 1 {
            return self.wrong("the types of results behind an arrow");
        }
        let ty = self.ty(last, 0)?;
        let one = match (line.name, self.module.ty(ty).clone()) {
            ("arith.cmpi" | "arith.cmpf", Type::Vector { shape, scalable, .. }) => {
                let element = self.ty("i1", 0)?;
                self.push_type(Type::Vector { shape, scalable, element })
            }
            ("arith.cmpi" | "arith.cmpf", _) => self.ty("i1", 0)?,
            ("memref.load", Type::MemRef { element, .. }) => element,
            _ => ty,
        };
        Ok(vec![one])
    }

    fn op(
        &mut self,
        name: &str,
        operands: Vec<ValueId>,
        attributes: Option<AttributeId>,
        regions: usize,
    ) -> Result<OpId, Error> {
        let next = self.module.names.len() as u32;
        let name = *self.names.entry(name.to_owned()).or_insert_with(|| {
            self.module.names.push(name.to_owned());
            next
        });
        let id = OpId(self.module.ops.len() as u32);
        let first = self.module.regions.len() as u32;
        for _ in 0..regions {
            self.module.regions.push(Region { op: id, blocks: 0..0 });
        }
        let block = self.open.last().map(|open| open.block);
        self.module.ops.push(Op {
            name,
            attributes,
            operands,
            successors: Vec::new(),
            results: 0..0,
            regions: first..first + regions as u32,
            block,
        });
        if let Some(block) = block {
            self.module.blocks[block.index()].ops.push(id);
        }
        Ok(id)
    }

    fn results(&mut self, op: OpId, names: &[(&str, usize)], types: &[TypeId]) -> Result<(), Error> {
        let count: usize = names.iter().map(|(_, count)| count).sum();
        if types.len() < count {
            return self.wrong("a type of each result");
        }
        let first = self.module.values.len() as u32;
        let mut index = 0;
        for (name, parts) in names {
            for part in 0..*parts {
                let value = ValueId(self.module.values.len() as u32);
                self.module.values.push(Value { origin: Some((types[index], Origin::Result(op, index))) });
                if part == 0 {
                    self.values.insert((*name).to_owned(), value);
                }
                if *parts > 1 {
                    self.values.insert(format!("{name}#{part}"), value);
                }
                index += 1;
            }
        }
        self.module.ops[op.index()].results = first..first + index as u32;
        Ok(())
    }

    fn enter(&mut self, region: usize, arguments: &[(&str, TypeId)]) -> Result<(), Error> {
        let last = OpId(self.module.ops.len() as u32 - 1);
        self.enter_of(last, region, arguments)
    }

    fn enter_of(&mut self, op: OpId, region: usize, arguments: &[(&str, TypeId)]) -> Result<(), Error> {
        if self.open.len() >= DEEPEST {
            return Err(Error::TooDeep { limit: DEEPEST });
        }
        let region = RegionId(self.module.ops[op.index()].regions.start + region as u32);
        let block = BlockId(self.module.blocks.len() as u32);
        let first = self.module.values.len() as u32;
        for (index, (name, ty)) in arguments.iter().enumerate() {
            let value = ValueId(self.module.values.len() as u32);
            self.module.values.push(Value { origin: Some((*ty, Origin::Argument(block, index))) });
            self.values.insert((*name).to_owned(), value);
        }
        let arguments = first..first + arguments.len() as u32;
        self.module.blocks.push(Block { region, arguments, ops: Vec::new() });
        self.module.regions[region.index()].blocks = block.0..block.0 + 1;
        self.open.push(Open { op, block });
        Ok(())
    }

    fn value(&self, name: &str) -> Result<ValueId, Error> {
        match self.values.get(name) {
            Some(value) => Ok(*value),
            None => self.wrong("a value that was given before"),
        }
    }

    fn string(&mut self, text: &str) -> AttributeId {
        let next = StringId(self.module.strings.len() as u32);
        let id = *self.strings.entry(text.to_owned()).or_insert_with(|| {
            self.module.strings.push(text.into());
            next
        });
        self.attribute(Attribute::String(id))
    }

    fn attribute(&mut self, attribute: Attribute) -> AttributeId {
        self.module.attributes.push(attribute);
        AttributeId(self.module.attributes.len() as u32 - 1)
    }

    fn integer(&mut self, value: i64, ty: &'a str) -> Result<AttributeId, Error> {
        let ty = self.ty(ty, 0)?;
        Ok(self.attribute(Attribute::Integer { ty, value }))
    }
}

#[cfg(test)]
mod tests;

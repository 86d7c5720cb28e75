//! From MLIR's text to tables: XLA writes kernels of its own, such as a softmax between two products, as text in the dialects'
//! own forms.
//!
//! An operation stands on a line of its own, and its types behind the last colon; what has regions ends in a brace. That is all
//! that is supposed of operations which have no form here. What cannot be read so is an error, never a guess.

use std::collections::BTreeMap;

use crate::attribute::Attribute;
use crate::error::Error;
use crate::ids::{AttributeId, BlockId, OpId, RegionId, StringId, TypeId, ValueId};
use crate::module::{Block, DEEPEST, Module, Op, Origin, Region, Value};
use crate::types::{DYNAMIC, Signedness, Type, float_named};

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

    /// A dictionary of these members and of those that the text has; `None` for an empty one.
    fn dictionary(
        &mut self,
        text: &'a str,
        mut members: Vec<(&'a str, AttributeId)>,
        depth: usize,
    ) -> Result<Option<AttributeId>, Error> {
        if !text.is_empty() {
            members.extend(self.members(text, depth)?);
        }
        if members.is_empty() {
            return Ok(None);
        }
        let members = members.into_iter().map(|(key, value)| (self.string(key), value)).collect();
        Ok(Some(self.attribute(Attribute::Dictionary(members))))
    }

    fn members(&mut self, text: &'a str, depth: usize) -> Result<Vec<(&'a str, AttributeId)>, Error> {
        let inner = text.strip_prefix('{').and_then(|rest| Some(&rest[..closing(rest, '{', '}')?]));
        let Some(inner) = inner else { return self.wrong("attributes in braces") };
        let mut members = Vec::new();
        for member in list(inner) {
            let (key, value) = member.split_once('=').unwrap_or((member, ""));
            let value = self.constant(value.trim(), depth + 1)?;
            members.push((key.trim().trim_matches('"'), value));
        }
        Ok(members)
    }

    /// An attribute by its text: what is not read here stays text.
    fn constant(&mut self, text: &'a str, depth: usize) -> Result<AttributeId, Error> {
        if depth > DEEPEST {
            return Err(Error::TooDeep { limit: DEEPEST });
        }
        if text.is_empty() {
            return Ok(self.attribute(Attribute::Unit));
        }
        if let Some(name) = text.strip_prefix('@') {
            let name = self.string(name.trim_matches('"'));
            return Ok(self.attribute(Attribute::Symbol(name)));
        }
        if let Some(quoted) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            return Ok(self.string(quoted));
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let mut all = Vec::new();
            for one in list(inner) {
                all.push(self.constant(one.trim(), depth + 1)?);
            }
            return Ok(self.attribute(Attribute::Array(all)));
        }
        if text.starts_with('{') {
            return match self.dictionary(text, Vec::new(), depth)? {
                Some(dictionary) => Ok(dictionary),
                None => Ok(self.attribute(Attribute::Dictionary(Vec::new()))),
            };
        }
        if let Some(inner) = text.strip_prefix("array<").and_then(|rest| rest.strip_suffix('>')) {
            let (element, numbers) = inner.split_once(':').unwrap_or((inner, ""));
            let width = match element.trim() {
                "i1" | "i8" => Some(1),
                "i32" => Some(4),
                "i64" => Some(8),
                _ => None,
            };
            let numbers: Option<Vec<i64>> = list(numbers).map(|one| one.trim().parse().ok()).collect();
            if let Some((width, numbers)) = width.zip(numbers) {
                let ty = self.ty(element.trim(), 0)?;
                let data: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()[..width].to_vec()).collect();
                let count = numbers.len() as u64;
                return Ok(self.attribute(Attribute::DenseArray { ty, count, data: data.into() }));
            }
        }
        if let "true" | "false" = text {
            return self.integer(i64::from(text == "true"), "i1");
        }
        let (number, ty) = text.split_once(':').unwrap_or((text, "i64"));
        if let Ok(value) = number.trim().parse()
            && let ty = self.ty(ty.trim(), 0)?
            && matches!(self.module.ty(ty), Type::Integer { .. } | Type::Index)
        {
            return Ok(self.attribute(Attribute::Integer { ty, value }));
        }
        let text = self.aliases.get(text).copied().unwrap_or(text);
        Ok(self.attribute(Attribute::Text(text.into())))
    }

    /// Types in brackets, or one.
    fn types(&mut self, text: &'a str) -> Result<Vec<TypeId>, Error> {
        let text = text.trim();
        let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
        list(inner).map(|one| self.ty(one.trim(), 0)).collect()
    }

    fn push_type(&mut self, ty: Type) -> TypeId {
        self.module.types.push(ty);
        TypeId(self.module.types.len() as u32 - 1)
    }

    fn ty(&mut self, text: &'a str, depth: usize) -> Result<TypeId, Error> {
        if let Some(known) = self.types.get(text) {
            return Ok(*known);
        }
        if depth > DEEPEST {
            return Err(Error::TooDeep { limit: DEEPEST });
        }
        let ty = self.read_type(text, depth)?;
        let id = self.push_type(ty);
        self.types.insert(text, id);
        Ok(id)
    }

    fn read_type(&mut self, text: &'a str, depth: usize) -> Result<Type, Error> {
        for (head, signedness) in
            [("i", Signedness::Signless), ("si", Signedness::Signed), ("ui", Signedness::Unsigned)]
        {
            if let Some(width) = text.strip_prefix(head).and_then(|width| width.parse().ok()) {
                return Ok(Type::Integer { width, signedness });
            }
        }
        if text == "index" {
            return Ok(Type::Index);
        }
        if let Some(float) = float_named(text) {
            return Ok(Type::Float(float));
        }
        let inner = |head: &str| text.strip_prefix(head).and_then(|rest| rest.strip_suffix('>'));
        if let Some(inner) = inner("vector<").filter(|inner| !inner.contains('[')) {
            let Some((shape, element)) = shape(inner) else { return self.wrong("a vector's shape") };
            let element = self.ty(element, depth + 1)?;
            return Ok(Type::Vector { shape, scalable: Vec::new(), element });
        }
        if let Some(inner) = inner("memref<").filter(|inner| !inner.starts_with('*')) {
            let mut parts = list(inner).map(str::trim);
            let Some((shape, element)) = parts.next().and_then(shape) else {
                return self.wrong("a reference's shape");
            };
            let element = self.ty(element, depth + 1)?;
            let (mut layout, mut space) = (None, None);
            for part in parts {
                let part = self.aliases.get(part).copied().unwrap_or(part);
                let is_layout =
                    part.starts_with("affine_map<") || part.starts_with("strided<") || part.contains("tiled");
                let id = self.attribute(Attribute::Text(part.into()));
                if is_layout { layout = Some(id) } else { space = Some(id) }
            }
            let layout = match layout {
                Some(layout) => layout,
                None => self.attribute(Attribute::Text("affine_map<() -> ()>".into())),
            };
            return Ok(Type::MemRef { shape, element, layout, space });
        }
        Ok(Type::Text(text.into()))
    }
}

/// A line without what stands behind `//` outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut is_quoted = false;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'/' if !is_quoted && line[at..].starts_with("//") => return &line[..at],
            _ => {}
        }
    }
    line
}

/// Extents and the element's type of `512x128xbf16`.
fn shape(text: &str) -> Option<(Vec<i64>, &str)> {
    let (mut shape, mut rest) = (Vec::new(), text);
    while let Some((extent, after)) = rest.split_once('x') {
        match extent {
            "?" => shape.push(DYNAMIC),
            digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                shape.push(digits.parse().ok()?);
            }
            _ => break,
        }
        rest = after;
    }
    (!rest.is_empty()).then_some((shape, rest))
}

/// How the depth of brackets changes with a byte, what is in quotes aside.
fn step(depth: &mut usize, is_quoted: &mut bool, before: u8, byte: u8) {
    match byte {
        b'"' if before != b'\\' => *is_quoted = !*is_quoted,
        _ if *is_quoted => {}
        b'(' | b'[' | b'{' | b'<' => *depth += 1,
        b'>' if before == b'-' => {}
        b')' | b']' | b'}' | b'>' => *depth = depth.saturating_sub(1),
        _ => {}
    }
}

/// Where the bracket ends that was opened just before the text.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let (mut depth, mut is_quoted) = (1_usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            c if c == open => depth += 1,
            c if c == close => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Parts between commas outside of brackets; none of an empty text.
fn list(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text.trim()).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        match split_at_top(text, ",") {
            Some((one, after)) => {
                rest = Some(after);
                Some(one)
            }
            None => rest.take(),
        }
    })
}

/// The text before and behind a word outside of brackets, where it first stands.
fn split_at_top<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let (mut depth, mut is_quoted, mut before) = (0, false, 0);
    for (at, byte) in text.bytes().enumerate() {
        if depth == 0 && !is_quoted && text.as_bytes()[at..].starts_with(word.as_bytes()) {
            return Some((&text[..at], &text[at + word.len()..]));
        }
        step(&mut depth, &mut is_quoted, before, byte);
        before = byte;
    }
    None
}

/// What an operation takes, and its types behind the last colon outside of brackets.
fn split_types(text: &str) -> (&str, &str) {
    let (mut before, mut types) = (text, "");
    let mut rest = text;
    let mut at = 0;
    while let Some((one, after)) = split_at_top(rest, " : ") {
        at += one.len();
        (before, types) = (&text[..at], after.trim());
        at += " : ".len();
        rest = after;
    }
    (before.trim(), types)
}

/// The values that a text names, in order.
fn values(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('%').map(|(at, _)| {
        let name = &text[at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_$.-#".contains(c);
        let end = name[1..].find(|c| !is_part(c)).map_or(name.len(), |end| end + 1);
        &name[..end]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Call;
    use crate::work::Range;

    const HEAD: &str = "module {
  func.func @main(%arg0: i32, %arg1: i32, %arg2: memref<64x512xbf16, #tpu.memory_space<vmem>>, %arg3: memref<512x128xbf16, #tpu.memory_space<vmem>>, %arg4: memref<64x128xf32, #tpu.memory_space<vmem>>, %arg5: memref<64x1xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 4, 3>, scratch_operands = 1 : i64, window_params = [{transform_indices = @left, window_bounds = array<i64: 64, 512>}, {transform_indices = @right, window_bounds = array<i64: 512, 128>}, {transform_indices = @out, window_bounds = array<i64: 64, 128>}]} {
";
    const MAPS: &str = "  func.func @left(%arg0: i32, %arg1: i32) -> (i32, i32) {
    return %arg0, %arg1 : i32, i32
  }
  func.func @right(%arg0: i32, %arg1: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg1, %c0_i32 : i32, i32
  }
  func.func @out(%arg0: i32, %arg1: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32 : i32, i32
  }
}
";

    fn kernel(body: &str) -> Module {
        read(&format!("{HEAD}{body}    return\n  }}\n{MAPS}")).unwrap()
    }

    const PRODUCT: &str = "%7 = tpu.matmul %1, %2, %cst {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<64x512xbf16>, vector<512x128xbf16>, vector<64x128xf32> -> vector<64x128xf32>\n";
    const LOADS: &str = "    %c0 = arith.constant 0 : index
    %1 = vector.load %arg2[%c0, %c0] : memref<64x512xbf16, #tpu.memory_space<vmem>>, vector<64x512xbf16>
    %2 = vector.load %arg3[%c0, %c0] : memref<512x128xbf16, #tpu.memory_space<vmem>>, vector<512x128xbf16>
    %cst = arith.constant dense<0.000000e+00> : vector<64x128xf32>
";
    /// FLOPs of one product.
    const ONE: u64 = 2 * 64 * 512 * 128;

    #[test]
    fn a_kernel_of_xla_is_read_from_its_text() {
        let body = format!(
            "{LOADS}    %c0_i32 = arith.constant 0 : i32
    %3 = arith.cmpi eq, %arg1, %c0_i32 : i32
    scf.if %3 {{
      vector.store %cst, %arg4[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
    }}
    %4 = math.exp %1 : vector<64x512xbf16>
    %5 = arith.cmpf oeq, %1, %4 : vector<64x512xbf16>
    %cst_1 = arith.constant dense<0.0> : vector<64xbf16>
    %6 = vector.multi_reduction <add>, %4, %cst_1 [1] : vector<64x512xbf16> to vector<64xbf16>
    {PRODUCT}    vector.store %7, %arg4[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
"
        );
        let module = kernel(&body);
        let kernel = module.kernel().unwrap();
        assert_eq!((kernel.name, kernel.grid.len(), kernel.grid[0].semantics), ("main", 2, "parallel"));
        let account = kernel.account(&Call::default());
        assert_eq!(account.steps, Some(12));
        assert_eq!(account.work.products, Range::exact(12 * ONE));
        assert_eq!(account.work.transcendentals, Range::exact(12 * 64 * 512));
        // A comparison of each element, and sums of rows.
        assert_eq!(account.work.vectors, Range::exact(12 * (64 * 512 + 64 * 511)));
        let copied: Vec<_> = account.windows.iter().map(|w| (w.copies.value(), w.is_written)).collect();
        assert_eq!(copied, [(Some(12), false), (Some(12), false), (Some(4), true)]);
        assert!(account.reasons.is_empty(), "{:?}", account.reasons);
        assert_eq!(kernel.products()[0].contracted, Some(512));
        // As generic text it is the same module.
        assert!(module.text().contains("\"tpu.matmul\"(%"), "{}", module.text());
    }

    #[test]
    fn loops_and_branches_are_followed() {
        let body = format!(
            "{LOADS}    %c5 = arith.constant 5 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %8:2 = scf.for %i = %c1 to %c5 step %c1 iter_args(%a = %c1, %b = %cst) -> (i32, vector<64x128xf32>)  : i32 {{
      %9 = arith.cmpi slt, %i, %c2 : i32
      %10 = scf.if %9 -> (vector<64x128xf32>) {{
        {PRODUCT}        scf.yield %7 : vector<64x128xf32>
      }} else {{
        scf.yield %b : vector<64x128xf32>
      }}
      %11 = arith.addi %a, %i overflow<nsw> : i32
      scf.yield %11, %10 : i32, vector<64x128xf32>
    }}
    %12 = arith.cmpi eq, %8#0, %c5 : i32
    scf.if %12 {{
      %13 = math.exp %8#1 : vector<64x128xf32>
    }}
"
        );
        let module = kernel(&body);
        let account = module.kernel().unwrap().account(&Call::default());
        assert_eq!(account.work.products, Range::exact(12 * ONE), "the first of four trips");
        assert_eq!(account.work.transcendentals, Range::ZERO, "1 + 1 + 2 + 3 + 4 is not 5");
        assert_eq!(module.kernel().unwrap().loops()[0].trips, Some(4));
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        let line = |text: &str| match read(text) {
            Err(Error::Text { line, .. }) => line,
            other => panic!("{other:?}"),
        };
        assert_eq!(line("module {\n  func.func @main() {\n    %0 = arith.addi %1, %1 : i32\n"), 3);
        assert_eq!(line("module {\n  func.func @main() {\n    cf.br ^bb1\n"), 3);
        assert_eq!(line("module {\n  func.func @main() {\n  ^bb1:\n"), 3);
        assert_eq!(line("module {\n  func.func @main() {\n    tpu.enqueue_dma source(%0 : i32)\n"), 3);
        assert_eq!(line("module {\n"), 1);
        assert_eq!(line("}"), 1);
        assert_eq!(line("module {\n}\nmodule {\n"), 3);
        let deep = format!("module {{\n{}", "tpu.region {\n".repeat(100));
        assert_eq!(read(&deep).unwrap_err(), Error::TooDeep { limit: DEEPEST });
        for (open, close) in [("{a = ", "}"), ("[", "]")] {
            let attribute = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
            let deep = format!("module attributes {{a = {attribute}}} {{\n}}\n");
            assert_eq!(read(&deep).unwrap_err(), Error::TooDeep { limit: DEEPEST });
        }
        // As many results as a few bytes ask for are not made.
        let many = format!("module {{\n    %0:{} = arith.constant 0 : i32\n}}", 60);
        assert_eq!(line(&many), 2);
    }

    #[test]
    fn no_cut_or_changed_text_is_a_panic() {
        let body = format!("{LOADS}    {PRODUCT}");
        let whole = format!("{HEAD}{body}    return\n  }}\n{MAPS}");
        for end in (0..whole.len()).step_by(3) {
            let _ = read(&whole[..end]);
            for byte in ['{', '}', '(', '%', ':', '\n', '"', '>', 'ä'] {
                let changed = format!("{}{byte}{}", &whole[..end], &whole[end + 1..]);
                if let Ok(module) = read(&changed)
                    && let Ok(kernel) = module.kernel()
                {
                    let account = kernel.account(&Call::default());
                    let flops = account.flops();
                    assert!(flops.at_most.is_none_or(|most| most >= flops.at_least));
                    let _ = (module.text(), kernel.loops(), kernel.products(), kernel.allocations());
                }
            }
        }
    }
}

//! A module as MLIR's generic text, without locations.

use std::fmt::Write;

use crate::attribute::{Attribute, to_width};
use crate::ids::{AttributeId, OpId, RegionId, TypeId, ValueId};
use crate::module::Module;
use crate::types::{DYNAMIC, F32, Signedness, Type};

/// The most text that is written. Attributes may name each other, so that a few bytes can stand for any amount of text.
const LONGEST: usize = 64 << 20;
/// How deep attributes and types are written.
const DEEPEST: usize = 64;
/// Vectors of more elements are written as the digits of their bytes, as MLIR does.
const MOST_ELEMENTS: u64 = 100;

impl Module {
    /// The module as MLIR's generic text, as `mlir-opt --mlir-print-op-generic` writes it, apart from the module's own operation,
    /// which has a form of its own. What this crate does not read is written as `<unread>`, and text over 64 MiB is cut off.
    #[must_use]
    pub fn text(&self) -> String {
        let mut printer = Printer {
            module: self,
            out: String::new(),
            names: vec![Name::None; self.values.len()],
            aliases: Vec::new(),
        };
        printer.module_op();
        let mut head = String::new();
        for (index, text) in printer.aliases.iter().enumerate() {
            let number = if index == 0 { String::new() } else { index.to_string() };
            let _ = writeln!(head, "#map{number} = {text}");
        }
        head + &printer.out
    }

    /// A type as MLIR writes it.
    #[must_use]
    pub fn type_text(&self, ty: TypeId) -> String {
        let mut printer =
            Printer { module: self, out: String::new(), names: Vec::new(), aliases: Vec::new() };
        printer.ty(ty, 0);
        printer.out
    }
}

/// What a value is called.
#[derive(Clone, Copy)]
enum Name {
    None,
    Argument(u32),
    Number(u32),
    /// One of several results of an operation.
    Part(u32, u32),
}

struct Printer<'m> {
    module: &'m Module,
    out: String,
    names: Vec<Name>,
    /// Affine maps, which are written once, by the order in which they first stand.
    aliases: Vec<&'m str>,
}

impl<'m> Printer<'m> {
    fn put(&mut self, text: &str) {
        if self.out.len() < LONGEST {
            self.out.push_str(text);
        }
    }

    fn is_full(&self) -> bool {
        self.out.len() >= LONGEST
    }

    fn put_args(&mut self, text: std::fmt::Arguments<'_>) {
        if !self.is_full() {
            let _ = self.out.write_fmt(text);
        }
    }

    fn joined<T>(&mut self, items: impl IntoIterator<Item = T>, mut one: impl FnMut(&mut Self, T)) {
        for (index, item) in items.into_iter().enumerate() {
            if self.is_full() {
                return;
            }
            if index > 0 {
                self.put(", ");
            }
            one(self, item);
        }
    }

    fn module_op(&mut self) {
        let root = self.module.root();
        if self.module.full_name(root) != "builtin.module" {
            self.number(root);
            self.op(root, 0);
            self.put("\n");
            return;
        }
        self.number(root);
        self.put("module");
        if let Some(name) = self.module.attribute(root, "sym_name").and_then(|a| self.module.words(a)) {
            self.put(" ");
            self.symbol(name);
        }
        if let Some(attributes) = self.module.op(root).attributes
            && let Attribute::Dictionary(members) = self.module.attribute_of(attributes)
        {
            let module = self.module;
            let is_other = |key: AttributeId| module.text_of(key) != Some("sym_name");
            let members: Vec<_> = members.iter().copied().filter(|(key, _)| is_other(*key)).collect();
            if !members.is_empty() {
                self.put(" attributes {");
                self.joined(members, |p, member| p.member(member, 0));
                self.put("}");
            }
        }
        self.put(" ");
        for region in self.module.op(root).regions() {
            self.region(region, 0);
        }
        self.put("\n");
    }

    /// Gives the values of an operation's regions their numbers: those of a region first, then those of regions in it, which
    /// begin where it ended.
    fn number(&mut self, op: OpId) {
        let module = self.module;
        let mut waiting: Vec<(RegionId, u32, u32)> = Vec::new();
        waiting.extend(module.op(op).regions().map(|region| (region, 0, 0)));
        while let Some((region, mut next, mut next_argument)) = waiting.pop() {
            for (index, block) in module.region(region).blocks().enumerate() {
                for argument in module.block(block).arguments() {
                    self.names[argument.index()] = if index == 0 {
                        next_argument += 1;
                        Name::Argument(next_argument - 1)
                    } else {
                        next += 1;
                        Name::Number(next - 1)
                    };
                }
                for op in &module.block(block).ops {
                    let results = module.op(*op).results();
                    if results.len() == 0 {
                        continue;
                    }
                    let is_alone = results.len() == 1;
                    for (part, value) in results.enumerate() {
                        self.names[value.index()] =
                            if is_alone { Name::Number(next) } else { Name::Part(next, part as u32) };
                    }
                    next += 1;
                }
            }
            for block in module.region(region).blocks() {
                for op in &module.block(block).ops {
                    waiting.extend(module.op(*op).regions().map(|inner| (inner, next, next_argument)));
                }
            }
        }
    }

    fn value(&mut self, value: ValueId) {
        match self.names[value.index()] {
            Name::None => self.put("<unread>"),
            Name::Argument(number) => self.put_args(format_args!("%arg{number}")),
            Name::Number(number) => self.put_args(format_args!("%{number}")),
            Name::Part(number, part) => self.put_args(format_args!("%{number}#{part}")),
        }
    }

    /// An operation, without the spaces before it and the end of its line. It calls itself for operations inside, at most as
    /// deep as the reader lets regions stand.
    fn op(&mut self, id: OpId, indent: usize) {
        let module = self.module;
        let op = module.op(id);
        let mut results = op.results();
        match results.next().map(|first| self.names[first.index()]) {
            Some(Name::Number(number)) => self.put_args(format_args!("%{number} = ")),
            Some(Name::Part(number, _)) => {
                self.put_args(format_args!("%{number}:{} = ", op.results.len()));
            }
            _ => {}
        }
        self.quoted(module.full_name(id));
        self.put("(");
        self.joined(op.operands.iter().copied(), Self::value);
        self.put(")");
        if !op.successors.is_empty() {
            let first = op.block.map_or(0, |b| module.region(module.block(b).region).blocks.start);
            self.put("[");
            self.joined(&op.successors, |p, block| p.put_args(format_args!("^bb{}", block.0 - first)));
            self.put("]");
        }
        if !op.regions.is_empty() {
            self.put(" (");
            self.joined(op.regions(), |p, region| p.region(region, indent));
            self.put(")");
        }
        if let Some(attributes) = op.attributes
            && let Attribute::Dictionary(members) = module.attribute_of(attributes)
            && !members.is_empty()
        {
            self.put(" {");
            self.joined(members.iter().copied(), |p, member| p.member(member, 0));
            self.put("}");
        }
        self.put(" : (");
        self.joined(op.operands.iter().copied(), Self::type_of);
        self.put(") -> ");
        let is_plain = op.results.len() == 1
            && op.results().all(|value| !matches!(module.type_of(value), Some(Type::Function { .. })));
        if !is_plain {
            self.put("(");
        }
        self.joined(op.results(), Self::type_of);
        if !is_plain {
            self.put(")");
        }
    }

    fn type_of(&mut self, value: ValueId) {
        match self.module.type_id(value) {
            Some(ty) => self.ty(ty, 0),
            None => self.put("<unread>"),
        }
    }

    fn region(&mut self, region: RegionId, indent: usize) {
        self.put("{\n");
        let module = self.module;
        for (index, block) in module.region(region).blocks().enumerate() {
            let block = module.block(block);
            if index > 0 || !block.arguments.is_empty() || block.ops.is_empty() {
                self.put_args(format_args!("{:indent$}^bb{index}", ""));
                if !block.arguments.is_empty() {
                    self.put("(");
                    self.joined(block.arguments(), |p, argument| {
                        p.value(argument);
                        p.put(": ");
                        p.type_of(argument);
                    });
                    self.put(")");
                }
                self.put(":\n");
            }
            for op in &block.ops {
                if self.is_full() {
                    return;
                }
                self.put_args(format_args!("{:1$}", "", indent + 2));
                self.op(*op, indent + 2);
                self.put("\n");
            }
        }
        self.put_args(format_args!("{:indent$}}}", ""));
    }

    /// A named attribute of a dictionary.
    fn member(&mut self, (key, value): (AttributeId, AttributeId), depth: usize) {
        let module = self.module;
        match module.text_of(key) {
            Some(name) if is_identifier(name) => self.put(name),
            Some(name) => self.quoted(name),
            None => self.put("<unread>"),
        }
        if *module.attribute_of(value) != Attribute::Unit {
            self.put(" = ");
            self.attribute(value, depth);
        }
    }

    fn attribute(&mut self, id: AttributeId, depth: usize) {
        if depth > DEEPEST || self.is_full() {
            return self.put("<unread>");
        }
        let module = self.module;
        match module.attribute_of(id) {
            Attribute::Array(all) => {
                self.put("[");
                self.joined(all, |p, one| p.attribute(*one, depth + 1));
                self.put("]");
            }
            Attribute::Dictionary(members) => {
                self.put("{");
                self.joined(members, |p, member| p.member(*member, depth + 1));
                self.put("}");
            }
            Attribute::String(string) => self.quoted(module.string(*string)),
            Attribute::TypedString(string, ty) => {
                self.quoted(module.string(*string));
                self.put(" : ");
                self.ty(*ty, depth + 1);
            }
            Attribute::Symbol(name) => self.symbol(module.text_of(*name).unwrap_or("")),
            Attribute::NestedSymbol(root, below) => {
                self.symbol(module.text_of(*root).unwrap_or(""));
                for name in below {
                    self.put("::");
                    self.symbol(module.text_of(*name).unwrap_or(""));
                }
            }
            Attribute::Type(ty) => self.ty(*ty, depth + 1),
            Attribute::Unit => self.put("unit"),
            Attribute::Integer { ty, value } => match module.ty(*ty) {
                Type::Integer { width: 1, signedness: Signedness::Signless } => {
                    self.put(if *value == 0 { "false" } else { "true" });
                }
                Type::Integer { width, signedness: Signedness::Unsigned } if *width < 64 => {
                    self.put_args(format_args!("{} : ", *value as u64 & ((1 << width) - 1)));
                    self.ty(*ty, depth + 1);
                }
                _ => {
                    self.put_args(format_args!("{value} : "));
                    self.ty(*ty, depth + 1);
                }
            },
            Attribute::Float { ty, bits } => {
                let float = if let Type::Float(float) = module.ty(*ty) { *float } else { F32 };
                self.put(&float.text(*bits));
                if float.name != "f64" {
                    self.put(" : ");
                    self.ty(*ty, depth + 1);
                }
            }
            Attribute::DenseArray { ty, data, .. } => self.dense_array(*ty, data, depth),
            Attribute::Dense { ty, data } => self.dense(*ty, data, depth),
            Attribute::Text(text) => self.map_or_text(text),
            Attribute::Location => self.put("loc(unknown)"),
            Attribute::Unknown(_) => self.put("<unread>"),
        }
    }

    /// An affine map by its alias, anything else as it is.
    fn map_or_text(&mut self, text: &'m str) {
        if !text.starts_with("affine_map<") {
            return self.put(text);
        }
        let known = self.aliases.iter().position(|alias| *alias == text);
        let index = known.unwrap_or_else(|| {
            self.aliases.push(text);
            self.aliases.len() - 1
        });
        if index == 0 { self.put("#map") } else { self.put_args(format_args!("#map{index}")) }
    }

    fn dense_array(&mut self, ty: TypeId, data: &[u8], depth: usize) {
        self.put("array<");
        self.ty(ty, depth + 1);
        let module = self.module;
        let bytes = module.bits(module.ty(ty)).map_or(0, |bits| bits.div_ceil(8) as usize);
        if !data.is_empty() {
            self.put(": ");
            if bytes == 0 || bytes > 8 {
                self.put("<unread>");
            } else {
                self.joined(data.chunks(bytes), |p, one| p.element(module.ty(ty), number(one)));
            }
        }
        self.put(">");
    }

    /// The elements of a vector.
    fn dense(&mut self, ty: TypeId, data: &[u8], depth: usize) {
        let module = self.module;
        let of = module.ty(ty);
        self.put("dense<");
        let (element, shape) = match of {
            Type::Vector { shape, element, .. } | Type::Tensor { shape, element, .. } => {
                (Some(module.ty(*element)), &shape[..])
            }
            _ => (None, &[][..]),
        };
        let (count, bytes) = (module.elements(of), element.and_then(|e| self.element_bytes(e)));
        match (element, count, bytes) {
            (Some(_), Some(0), _) => {}
            // Truth values are packed; all true and all false are one for all.
            (Some(Type::Integer { width: 1, .. }), Some(count), _)
                if data.len() as u64 == count.div_ceil(8) && !matches!(data, [0 | 0xff]) =>
            {
                if count > MOST_ELEMENTS {
                    self.digits(data);
                } else {
                    let bits: Vec<u64> =
                        (0..count as usize).map(|i| u64::from(data[i / 8] >> (i % 8) & 1)).collect();
                    self.nested(element, shape, &bits);
                }
            }
            (Some(element), Some(_), Some(bytes)) if data.len() == bytes => {
                self.element(element, number(data));
            }
            (Some(element), Some(count), Some(bytes))
                if Some(data.len() as u64) == count.checked_mul(bytes as u64) =>
            {
                if count > MOST_ELEMENTS {
                    self.digits(data);
                } else {
                    let elements: Vec<u64> = data.chunks(bytes).map(number).collect();
                    self.nested(Some(element), shape, &elements);
                }
            }
            _ => self.put("<unread>"),
        }
        self.put("> : ");
        self.ty(ty, depth + 1);
    }

    fn digits(&mut self, data: &[u8]) {
        self.put("\"0x");
        for byte in data {
            self.put_args(format_args!("{byte:02X}"));
        }
        self.put("\"");
    }

    /// Elements in the brackets of their shape.
    fn nested(&mut self, element: Option<&Type>, shape: &[i64], elements: &[u64]) {
        let Some((extent, inner)) = shape.split_first() else {
            if let (Some(element), Some(one)) = (element, elements.first()) {
                self.element(element, *one);
            }
            return;
        };
        let size = elements.len() / (*extent).max(1) as usize;
        self.put("[");
        self.joined(elements.chunks(size.max(1)), |p, part| p.nested(element, inner, part));
        self.put("]");
    }

    fn element_bytes(&self, element: &Type) -> Option<usize> {
        match element {
            Type::Index => Some(8),
            Type::Integer { width, .. } => Some(width.div_ceil(8) as usize),
            Type::Float(float) => Some(float.width.div_ceil(8) as usize),
            _ => None,
        }
        .filter(|bytes| (1..=8).contains(bytes))
    }

    /// A number of a vector or an array, without its type.
    fn element(&mut self, ty: &Type, bits: u64) {
        match ty {
            Type::Integer { width: 1, .. } => self.put(if bits & 1 == 0 { "false" } else { "true" }),
            Type::Integer { signedness: Signedness::Unsigned, .. } => self.put_args(format_args!("{bits}")),
            Type::Integer { width, .. } => {
                self.put_args(format_args!("{}", to_width(bits as i64, *width)));
            }
            Type::Index => self.put_args(format_args!("{}", bits as i64)),
            Type::Float(float) => {
                let text = float.text(bits);
                self.put(&text);
            }
            _ => self.put("<unread>"),
        }
    }

    fn ty(&mut self, id: TypeId, depth: usize) {
        if depth > DEEPEST || self.is_full() {
            return self.put("<unread>");
        }
        let module = self.module;
        match module.ty(id) {
            Type::Integer { width, signedness } => {
                self.put(match signedness {
                    Signedness::Signless => "i",
                    Signedness::Signed => "si",
                    Signedness::Unsigned => "ui",
                });
                self.put_args(format_args!("{width}"));
            }
            Type::Index => self.put("index"),
            Type::Float(float) => self.put(float.name),
            Type::Function { inputs, results } => {
                self.put("(");
                self.joined(inputs, |p, ty| p.ty(*ty, depth + 1));
                self.put(") -> ");
                let is_plain = results.len() == 1 && !matches!(module.ty(results[0]), Type::Function { .. });
                if !is_plain {
                    self.put("(");
                }
                self.joined(results, |p, ty| p.ty(*ty, depth + 1));
                if !is_plain {
                    self.put(")");
                }
            }
            Type::Complex(element) => {
                self.put("complex<");
                self.ty(*element, depth + 1);
                self.put(">");
            }
            Type::MemRef { shape, element, layout, space } => {
                self.put("memref<");
                self.extents(shape, &[]);
                self.ty(*element, depth + 1);
                if !module.text_of(*layout).is_some_and(is_identity) {
                    self.put(", ");
                    self.attribute(*layout, depth + 1);
                }
                self.space(*space, depth);
                self.put(">");
            }
            Type::UnrankedMemRef { element, space } => {
                self.put("memref<*x");
                self.ty(*element, depth + 1);
                self.space(*space, depth);
                self.put(">");
            }
            Type::None => self.put("none"),
            Type::Tensor { shape, element, encoding } => {
                self.put("tensor<");
                self.extents(shape, &[]);
                self.ty(*element, depth + 1);
                self.space(*encoding, depth);
                self.put(">");
            }
            Type::UnrankedTensor(element) => {
                self.put("tensor<*x");
                self.ty(*element, depth + 1);
                self.put(">");
            }
            Type::Tuple(elements) => {
                self.put("tuple<");
                self.joined(elements, |p, ty| p.ty(*ty, depth + 1));
                self.put(">");
            }
            Type::Vector { shape, scalable, element } => {
                self.put("vector<");
                self.extents(shape, scalable);
                self.ty(*element, depth + 1);
                self.put(">");
            }
            Type::Text(text) => self.put(text),
            Type::Unknown(_) => self.put("<unread>"),
        }
    }

    fn space(&mut self, space: Option<AttributeId>, depth: usize) {
        if let Some(space) = space {
            self.put(", ");
            self.attribute(space, depth + 1);
        }
    }

    fn extents(&mut self, shape: &[i64], scalable: &[bool]) {
        for (index, extent) in shape.iter().enumerate() {
            match (*extent, scalable.get(index)) {
                (DYNAMIC, _) => self.put("?x"),
                (extent, Some(true)) => self.put_args(format_args!("[{extent}]x")),
                (extent, _) => self.put_args(format_args!("{extent}x")),
            }
        }
    }

    fn symbol(&mut self, name: &str) {
        self.put("@");
        if is_identifier(name) { self.put(name) } else { self.quoted(name) }
    }

    fn quoted(&mut self, text: &str) {
        self.put("\"");
        for byte in text.bytes() {
            match byte {
                b'\\' => self.put("\\\\"),
                b' '..=b'~' if byte != b'"' => self.put_args(format_args!("{}", char::from(byte))),
                _ => self.put_args(format_args!("\\{byte:02X}")),
            }
        }
        self.put("\"");
    }
}

/// The number of these bytes, the lowest first.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.'))
}

/// Whether an affine map leaves its dimensions as they are.
fn is_identity(map: &str) -> bool {
    let Some(map) = map.strip_prefix("affine_map<").and_then(|rest| rest.strip_suffix('>')) else {
        return false;
    };
    map.split_once(" -> ").is_some_and(|(from, to)| from == to)
}

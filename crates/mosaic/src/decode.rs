//! From bytecode to tables.
//!
//! The format is described at <https://mlir.llvm.org/docs/BytecodeFormat>. Version 0 has neither properties nor lazily loaded
//! regions, and says where every block argument was written.

use crate::assembly;
use crate::attribute::{self, Attribute};
use crate::bytes::Bytes;
use crate::error::Error;
use crate::ids::{AttributeId, BlockId, OpId, RegionId, TypeId, ValueId};
use crate::module::{Block, DEEPEST, Module, Op, Origin, Region, Value};
use crate::types::{self, Type};

const MAGIC: &[u8; 4] = b"ML\xefR";

const STRINGS: (usize, &str) = (0, "strings");
const DIALECTS: (usize, &str) = (1, "dialects");
const TABLE: (usize, &str) = (2, "attributes and types");
const OFFSETS: (usize, &str) = (3, "offsets of attributes and types");
const CODE: (usize, &str) = (4, "operations");

const HAS_ATTRIBUTES: u8 = 1;
const HAS_RESULTS: u8 = 2;
const HAS_OPERANDS: u8 = 4;
const HAS_SUCCESSORS: u8 = 8;
const HAS_REGIONS: u8 = 16;

impl Module {
    /// Reads a module of version 0, or its text. Memory is at most a small multiple of the bytes; regions stand at most 64 deep.
    ///
    /// # Errors
    /// What is wrong with the bytes, and where.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            if let Some(text) = std::str::from_utf8(bytes).ok().filter(|_| assembly::is_text(bytes)) {
                return assembly::read(text);
            }
            return Err(Error::NotBytecode { found: bytes.iter().take(4).copied().collect() });
        };
        let mut head = Bytes::new(rest, "the head");
        let version = head.varint()?;
        if version != 0 {
            return Err(Error::Version { found: version });
        }
        let mut producer = Vec::new();
        loop {
            match head.byte()? {
                0 => break,
                byte => producer.push(byte),
            }
        }
        let sections = sections(&mut head)?;
        let section = |(id, name): (usize, &'static str)| {
            sections[id].map(|bytes| Bytes::new(bytes, name)).ok_or(Error::Missing { section: name })
        };
        let mut module =
            Self { producer: String::from_utf8_lossy(&producer).into_owned(), ..Self::default() };
        module.strings = strings(section(STRINGS)?)?;
        let dialects = module.read_dialects(section(DIALECTS)?)?;
        module.read_table(section(OFFSETS)?, section(TABLE)?, &dialects)?;
        Code { module, bytes: section(CODE)?, scopes: vec![Vec::new()] }.read()
    }

    /// Names of dialects; those of operations go into the module.
    fn read_dialects(&mut self, mut bytes: Bytes<'_>) -> Result<Vec<u32>, Error> {
        let dialects = bytes.list("dialects", |b| b.index(self.strings.len(), "a dialect's name"))?;
        while bytes.left() > 0 {
            let dialect = bytes.index(dialects.len(), "a dialect")? as usize;
            for _ in 0..bytes.count("names of operations")? {
                let name = bytes.index(self.strings.len(), "an operation's name")? as usize;
                let dialect = &self.strings[dialects[dialect] as usize];
                // Long names of few strings would take more memory than the bytes they come from.
                if dialect.len() + self.strings[name].len() > LONGEST_NAME {
                    return bytes.wrong("an operation's name of at most 256 bytes");
                }
                self.names.push(format!("{dialect}.{}", self.strings[name]));
            }
        }
        Ok(dialects)
    }

    fn read_table(
        &mut self,
        mut offsets: Bytes<'_>,
        mut table: Bytes<'_>,
        dialects: &[u32],
    ) -> Result<(), Error> {
        let attributes = offsets.count("the number of attributes")?;
        let types = offsets.count("the number of types")?;
        let mut entries = |count: usize| {
            let mut all = Vec::with_capacity(count);
            while all.len() < count {
                let dialect = offsets.index(dialects.len(), "a dialect")? as usize;
                let group = offsets.count("a dialect's attributes or types")?;
                if group > count - all.len() {
                    return offsets.wrong("no more attributes and types than were said");
                }
                for _ in 0..group {
                    let value = offsets.varint()?;
                    let Ok(size) = usize::try_from(value >> 1) else {
                        return offsets.wrong("the size of an attribute or a type");
                    };
                    let is_builtin = &*self.strings[dialects[dialect] as usize] == "builtin";
                    all.push(Entry { is_builtin, is_encoded: value & 1 == 1, bytes: table.take(size)? });
                }
            }
            Ok(all)
        };
        let (attribute_entries, type_entries) = (entries(attributes)?, entries(types)?);
        for entry in type_entries {
            self.types.push(match entry.kind() {
                Kind::Text(text) => Type::Text(text),
                Kind::Foreign => Type::Unknown(u64::MAX),
                Kind::Builtin(mut bytes) => types::read(&mut bytes, [attributes, types])?,
            });
        }
        for entry in attribute_entries {
            self.attributes.push(match entry.kind() {
                Kind::Text(text) => Attribute::Text(text),
                Kind::Foreign => Attribute::Unknown(u64::MAX),
                Kind::Builtin(mut bytes) => {
                    attribute::read(&mut bytes, attributes, &self.types, self.strings.len())?
                }
            });
        }
        Ok(())
    }
}

/// The longest name of an operation, its dialect's among it.
const LONGEST_NAME: usize = 256;

/// An attribute or a type as it is kept.
struct Entry<'a> {
    is_builtin: bool,
    is_encoded: bool,
    bytes: &'a [u8],
}

enum Kind<'a> {
    Text(Box<str>),
    Builtin(Bytes<'a>),
    /// Encoded by another dialect.
    Foreign,
}

impl<'a> Entry<'a> {
    fn kind(&self) -> Kind<'a> {
        if !self.is_encoded {
            let text = self.bytes.strip_suffix(&[0]).unwrap_or(self.bytes);
            return Kind::Text(String::from_utf8_lossy(text).into());
        }
        if self.is_builtin { Kind::Builtin(Bytes::new(self.bytes, TABLE.1)) } else { Kind::Foreign }
    }
}

/// The sections by their numbers.
fn sections<'a>(bytes: &mut Bytes<'a>) -> Result<[Option<&'a [u8]>; 9], Error> {
    // What is aligned is aligned to the file's start, of which the magic number was taken off.
    let head = MAGIC.len();
    let mut sections = [None; 9];
    while bytes.left() > 0 {
        let id = bytes.byte()?;
        let length = bytes.varint()?;
        if id & 0x80 != 0 {
            let alignment = bytes.varint()?;
            if !alignment.is_power_of_two() {
                return bytes.wrong("an alignment that is a power of two");
            }
            while !((bytes.position() + head) as u64).is_multiple_of(alignment) {
                bytes.byte()?;
            }
        }
        let Ok(length) = usize::try_from(length) else { return bytes.wrong("the length of a section") };
        let body = bytes.take(length)?;
        match sections.get_mut(usize::from(id & 0x7f)) {
            Some(section @ None) => *section = Some(body),
            _ => return bytes.wrong("each known section once"),
        }
    }
    Ok(sections)
}

/// The strings: their lengths first, that of the last one first, then their bytes.
fn strings(mut bytes: Bytes<'_>) -> Result<Vec<Box<str>>, Error> {
    let mut lengths = bytes.list("lengths of strings", Bytes::varint)?;
    lengths.reverse();
    let one = |length: u64| {
        let Ok(length) = usize::try_from(length) else { return bytes.wrong("the length of a string") };
        let text = bytes.take(length)?;
        Ok(String::from_utf8_lossy(text.strip_suffix(&[0]).unwrap_or(text)).into())
    };
    lengths.into_iter().map(one).collect()
}

/// What of a region is still to read.
struct Open {
    region: RegionId,
    /// The block that is read.
    block: u32,
    /// How many of its operations are left.
    ops_left: usize,
    /// Regions of the same operation that come behind.
    end: u32,
    is_isolated: bool,
}

/// Values of a region that operations may name.
#[derive(Clone, Copy)]
struct Scope {
    /// The number that operations call its first value by.
    first: usize,
    count: usize,
    /// Place of its first value in the module's table.
    base: usize,
    /// How many are defined so far.
    defined: usize,
}

/// Reads the operations.
struct Code<'a> {
    module: Module,
    bytes: Bytes<'a>,
    /// Regions around, innermost last, by what is isolated from what is above.
    scopes: Vec<Vec<Scope>>,
}

impl Code<'_> {
    fn read(mut self) -> Result<Module, Error> {
        // The section is a block of its own, around the module's operation: it has no values.
        let head = self.bytes.varint()?;
        if head != 1 << 1 {
            return self.bytes.wrong("one operation, the module's");
        }
        self.scopes[0].push(Scope { first: 0, count: 0, base: 0, defined: 0 });
        let mut open: Vec<Open> = Vec::new();
        if let Some(first) = self.op(None)? {
            self.enter(&mut open, first)?;
        }
        while let Some(top) = open.last_mut() {
            if top.ops_left > 0 {
                top.ops_left -= 1;
                let block = BlockId(top.block);
                if let Some(inner) = self.op(Some(block))? {
                    self.enter(&mut open, inner)?;
                }
                continue;
            }
            let blocks = &self.module.regions[top.region.index()].blocks;
            if top.block + 1 < blocks.end {
                top.block += 1;
                top.ops_left = self.block_head(BlockId(top.block))?;
                continue;
            }
            let (next, end, is_isolated) = (top.region.0 + 1, top.end, top.is_isolated);
            open.pop();
            self.leave(is_isolated);
            if next < end {
                self.enter(&mut open, Regions { first: next, end, is_isolated })?;
            }
        }
        Ok(self.module)
    }

    /// An operation without what is in its regions, which are given where it has any.
    fn op(&mut self, block: Option<BlockId>) -> Result<Option<Regions>, Error> {
        let name = self.bytes.index(self.module.names.len(), "an operation's name")?;
        let mask = self.bytes.byte()?;
        if mask >= HAS_REGIONS << 1 {
            return self.bytes.wrong("what an operation of version 0 may have");
        }
        let attributes = self.module.attributes.len();
        self.bytes.index(attributes, "a location")?;
        let id = OpId(self.module.ops.len() as u32);
        let mut op = Op {
            name,
            attributes: None,
            operands: Vec::new(),
            successors: Vec::new(),
            results: 0..0,
            regions: 0..0,
            block,
        };
        if mask & HAS_ATTRIBUTES != 0 {
            op.attributes = Some(AttributeId(self.bytes.index(attributes, "attributes")?));
        }
        if mask & HAS_RESULTS != 0 {
            let types = self.module.types.len();
            let results = self.bytes.list("types of results", |b| b.index(types, "a type"))?;
            op.results = self.define(&results, |index| Origin::Result(id, index))?;
        }
        if mask & HAS_OPERANDS != 0 {
            let (scopes, values) = (&self.scopes, self.module.values.len());
            op.operands = self.bytes.list("operands", |b| match find(scopes, b.varint()?) {
                Some(value) if value < values => Ok(ValueId(value as u32)),
                _ => b.wrong("a value of a region around"),
            })?;
        }
        if mask & HAS_SUCCESSORS != 0 {
            let region = block.map(|block| self.module.block(block).region);
            let blocks = region.map_or(0..0, |region| self.module.region(region).blocks.clone());
            op.successors = self.bytes.list("successors", |b| {
                b.index(blocks.len(), "a block").map(|block| BlockId(blocks.start + block))
            })?;
        }
        let mut inner = None;
        if mask & HAS_REGIONS != 0 {
            let value = self.bytes.varint()?;
            let (count, is_isolated) = (value >> 1, value & 1 == 1);
            let first = self.module.regions.len() as u32;
            let Some(count) = u32::try_from(count).ok().filter(|c| *c as usize <= self.bytes.left()) else {
                return self.bytes.wrong("the number of regions");
            };
            op.regions = first..first + count;
            for _ in 0..count {
                self.module.regions.push(Region { op: id, blocks: 0..0 });
            }
            inner = (count > 0).then_some(Regions { first, end: first + count, is_isolated });
        }
        self.module.ops.push(op);
        if let Some(block) = block {
            self.module.blocks[block.index()].ops.push(id);
        }
        Ok(inner)
    }

    /// Begins the first of an operation's regions that has a block.
    fn enter(&mut self, open: &mut Vec<Open>, regions: Regions) -> Result<(), Error> {
        if open.len() >= DEEPEST {
            return Err(Error::TooDeep { limit: DEEPEST });
        }
        for region in regions.first..regions.end {
            let blocks = self.bytes.count("the number of blocks")?;
            let first = self.module.blocks.len() as u32;
            self.module.regions[region as usize].blocks = first..first + blocks as u32;
            if blocks == 0 {
                continue;
            }
            let count = self.bytes.count("the number of values")?;
            let region = RegionId(region);
            for _ in 0..blocks {
                self.module.blocks.push(Block { region, arguments: 0..0, ops: Vec::new() });
            }
            let base = self.module.values.len();
            self.module.values.extend(std::iter::repeat_n(Value { origin: None }, count));
            if regions.is_isolated {
                self.scopes.push(Vec::new());
            }
            if let Some(around) = self.scopes.last_mut() {
                let first = around.last().map_or(0, |scope| scope.first + scope.count);
                around.push(Scope { first, count, base, defined: 0 });
            }
            let ops_left = self.block_head(BlockId(first))?;
            let is_isolated = regions.is_isolated;
            open.push(Open { region, block: first, ops_left, end: regions.end, is_isolated });
            return Ok(());
        }
        Ok(())
    }

    fn leave(&mut self, is_isolated: bool) {
        if let Some(scopes) = self.scopes.last_mut() {
            scopes.pop();
        }
        if is_isolated {
            self.scopes.pop();
        }
    }

    /// A block's arguments and number of operations.
    fn block_head(&mut self, block: BlockId) -> Result<usize, Error> {
        let head = self.bytes.varint()?;
        if head & 1 == 1 {
            let (types, attributes) = (self.module.types.len(), self.module.attributes.len());
            let arguments = self.bytes.list("arguments", |b| {
                let ty = b.index(types, "a type")?;
                b.index(attributes, "a location")?;
                Ok(ty)
            })?;
            self.module.blocks[block.index()].arguments =
                self.define(&arguments, |index| Origin::Argument(block, index))?;
        }
        match usize::try_from(head >> 1) {
            Ok(ops) if ops <= self.bytes.left() => Ok(ops),
            _ => self.bytes.wrong("the number of operations"),
        }
    }

    /// Gives the next values of the innermost region their types.
    fn define(
        &mut self,
        types: &[u32],
        origin: impl Fn(usize) -> Origin,
    ) -> Result<std::ops::Range<u32>, Error> {
        let Some(scope) = self.scopes.last_mut().and_then(|scopes| scopes.last_mut()) else {
            return self.bytes.wrong("a region around");
        };
        if types.len() > scope.count - scope.defined {
            return self.bytes.wrong("no more values than the region was said to have");
        }
        let first = scope.base + scope.defined;
        scope.defined += types.len();
        for (index, ty) in types.iter().enumerate() {
            self.module.values[first + index].origin = Some((TypeId(*ty), origin(index)));
        }
        Ok(first as u32..(first + types.len()) as u32)
    }
}

/// Regions of one operation that are still to read.
#[derive(Clone, Copy)]
struct Regions {
    first: u32,
    end: u32,
    is_isolated: bool,
}

/// The place in the module's table of a value that is called by this number.
fn find(scopes: &[Vec<Scope>], number: u64) -> Option<usize> {
    let number = usize::try_from(number).ok()?;
    let scopes = scopes.last()?;
    let at = scopes.partition_point(|scope| scope.first + scope.count <= number);
    let scope = scopes.get(at)?;
    Some(scope.base + (number - scope.first))
}

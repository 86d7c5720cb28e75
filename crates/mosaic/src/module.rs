//! A module's tables and how they are asked.

use std::ops::Range;

use crate::attribute::Attribute;
use crate::ids::{AttributeId, BlockId, OpId, RegionId, StringId, TypeId, ValueId};
use crate::types::{DYNAMIC, Type};

/// A module of MLIR, read from bytecode. Everything lies in flat tables; ids are places in them and were checked when they were
/// read, so a module answers every question about ids of its own.
#[derive(Debug, Clone, Default)]
pub struct Module {
    pub(crate) producer: String,
    pub(crate) strings: Vec<Box<str>>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) types: Vec<Type>,
    /// Names of operations with their dialects.
    pub(crate) names: Vec<String>,
    pub(crate) ops: Vec<Op>,
    pub(crate) regions: Vec<Region>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) values: Vec<Value>,
}

/// An operation.
#[derive(Debug, Clone)]
pub struct Op {
    pub(crate) name: u32,
    pub(crate) attributes: Option<AttributeId>,
    /// What it takes.
    pub operands: Vec<ValueId>,
    /// Where control may go on.
    pub successors: Vec<BlockId>,
    pub(crate) results: Range<u32>,
    pub(crate) regions: Range<u32>,
    /// The block that it stands in; `None` for the module.
    pub block: Option<BlockId>,
}

impl Op {
    /// What it gives.
    pub fn results(&self) -> impl ExactSizeIterator<Item = ValueId> + use<> {
        self.results.clone().map(ValueId)
    }

    /// Its regions.
    pub fn regions(&self) -> impl ExactSizeIterator<Item = RegionId> + use<> {
        self.regions.clone().map(RegionId)
    }
}

/// A region of an operation.
#[derive(Debug, Clone)]
pub struct Region {
    /// Its operation.
    pub op: OpId,
    pub(crate) blocks: Range<u32>,
}

impl Region {
    /// Its blocks, where control enters first.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = BlockId> + use<> {
        self.blocks.clone().map(BlockId)
    }
}

/// A block of operations that run one after the other.
#[derive(Debug, Clone)]
pub struct Block {
    /// Its region.
    pub region: RegionId,
    pub(crate) arguments: Range<u32>,
    /// Its operations.
    pub ops: Vec<OpId>,
}

impl Block {
    /// Its arguments.
    pub fn arguments(&self) -> impl ExactSizeIterator<Item = ValueId> + use<> {
        self.arguments.clone().map(ValueId)
    }
}

/// A value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    /// `None` where the region that was said to have it does not.
    pub(crate) origin: Option<(TypeId, Origin)>,
}

/// Where a value comes from, and which of those there it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A result of an operation.
    Result(OpId, usize),
    /// An argument of a block.
    Argument(BlockId, usize),
}

/// The deepest nesting of regions that is read. Kernels have below ten; what walks a module may use the stack.
pub(crate) const DEEPEST: usize = 64;
/// What kernels' own dialects put before the names of all others when they are kept.
const STABLE: &str = "stable_mosaic.";

impl Module {
    /// Who wrote the bytecode, such as `MLIR23.0.0git`.
    #[must_use]
    pub fn producer(&self) -> &str {
        &self.producer
    }

    /// `stable_mosaic.version`, by which its operations are meant; `None` where it has none.
    #[must_use]
    pub fn version(&self) -> Option<i64> {
        self.integer(self.attribute(self.root(), "stable_mosaic.version")?)
    }

    /// The module's own operation.
    #[must_use]
    pub fn root(&self) -> OpId {
        OpId(0)
    }

    /// Number of operations, the module's own among them.
    #[must_use]
    pub fn op_count(&self) -> usize {
        self.ops.len()
    }

    /// All operations; one stands before those inside it.
    pub fn ops(&self) -> impl Iterator<Item = (OpId, &Op)> {
        self.ops.iter().enumerate().map(|(index, op)| (OpId(index as u32), op))
    }

    /// An operation.
    #[must_use]
    pub fn op(&self, op: OpId) -> &Op {
        &self.ops[op.index()]
    }

    /// A region.
    #[must_use]
    pub fn region(&self, region: RegionId) -> &Region {
        &self.regions[region.index()]
    }

    /// A block.
    #[must_use]
    pub fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.index()]
    }

    /// The operation's name as it is written: `stable_mosaic.tpu.matmul`.
    #[must_use]
    pub fn full_name(&self, op: OpId) -> &str {
        &self.names[self.op(op).name as usize]
    }

    /// The operation's name without what keeping a kernel puts before it: `tpu.matmul`.
    #[must_use]
    pub fn name(&self, op: OpId) -> &str {
        let name = self.full_name(op);
        name.strip_prefix(STABLE).unwrap_or(name)
    }

    /// The operation that this one stands in.
    #[must_use]
    pub fn parent(&self, op: OpId) -> Option<OpId> {
        self.op(op).block.map(|block| self.region(self.block(block).region).op)
    }

    /// The only block of a region; `None` where it has none or several.
    #[must_use]
    pub fn only_block(&self, region: RegionId) -> Option<BlockId> {
        let blocks = &self.region(region).blocks;
        (blocks.len() == 1).then_some(BlockId(blocks.start))
    }

    /// The last operation of a block, which says where control and values go.
    #[must_use]
    pub fn terminator(&self, block: BlockId) -> Option<OpId> {
        self.block(block).ops.last().copied()
    }

    /// Where a value comes from.
    #[must_use]
    pub fn origin(&self, value: ValueId) -> Option<Origin> {
        self.values[value.index()].origin.map(|(_, origin)| origin)
    }

    /// A value's type.
    #[must_use]
    pub fn type_of(&self, value: ValueId) -> Option<&Type> {
        self.values[value.index()].origin.map(|(ty, _)| self.ty(ty))
    }

    pub(crate) fn type_id(&self, value: ValueId) -> Option<TypeId> {
        self.values[value.index()].origin.map(|(ty, _)| ty)
    }

    /// A type.
    #[must_use]
    pub fn ty(&self, ty: TypeId) -> &Type {
        &self.types[ty.index()]
    }

    /// An attribute.
    #[must_use]
    pub fn attribute_of(&self, attribute: AttributeId) -> &Attribute {
        &self.attributes[attribute.index()]
    }

    pub(crate) fn string(&self, string: StringId) -> &str {
        &self.strings[string.index()]
    }

    /// The attribute of an operation with a name.
    #[must_use]
    pub fn attribute(&self, op: OpId, name: &str) -> Option<&Attribute> {
        self.member(self.op(op).attributes?, name)
    }

    /// The member of a dictionary with a name.
    #[must_use]
    pub fn member(&self, dictionary: AttributeId, name: &str) -> Option<&Attribute> {
        let Attribute::Dictionary(members) = self.attribute_of(dictionary) else { return None };
        let (_, value) = members.iter().find(|(key, _)| self.text_of(*key) == Some(name))?;
        Some(self.attribute_of(*value))
    }

    /// The text of a text attribute, of a symbol's name, or of an attribute that is kept as text.
    #[must_use]
    pub fn text_of(&self, attribute: AttributeId) -> Option<&str> {
        self.words(self.attribute_of(attribute))
    }

    /// The same of an attribute itself.
    #[must_use]
    pub fn words<'m>(&'m self, attribute: &'m Attribute) -> Option<&'m str> {
        match attribute {
            Attribute::String(string) | Attribute::TypedString(string, _) => Some(self.string(*string)),
            Attribute::Symbol(name) => match self.attribute_of(*name) {
                Attribute::String(string) => Some(self.string(*string)),
                _ => None,
            },
            Attribute::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of an integer attribute.
    #[must_use]
    pub fn integer(&self, attribute: &Attribute) -> Option<i64> {
        match attribute {
            Attribute::Integer { value, .. } => Some(*value),
            _ => None,
        }
    }

    /// The numbers of an array of integers, dense or not.
    #[must_use]
    pub fn integers(&self, attribute: &Attribute) -> Option<Vec<i64>> {
        match attribute {
            Attribute::Array(all) => all.iter().map(|one| self.integer(self.attribute_of(*one))).collect(),
            Attribute::DenseArray { ty, data, .. } => {
                let width = match self.ty(*ty) {
                    Type::Integer { width, .. } => (*width as usize).div_ceil(8),
                    Type::Index => 8,
                    _ => return None,
                };
                if !(1..=8).contains(&width) || data.len() % width != 0 {
                    return None;
                }
                let one = |bytes: &[u8]| {
                    let value = bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
                    crate::attribute::to_width(value as i64, (width * 8) as u32)
                };
                Some(data.chunks_exact(width).map(one).collect())
            }
            _ => None,
        }
    }

    /// The function of a name, in the module itself.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<OpId> {
        self.functions().find(|op| self.attribute(*op, "sym_name").and_then(|a| self.words(a)) == Some(name))
    }

    /// The module's functions, in order.
    pub fn functions(&self) -> impl Iterator<Item = OpId> {
        let body = self.op(self.root()).regions().next().and_then(|region| self.only_block(region));
        let ops = body.map_or(&[][..], |block| &self.block(block).ops);
        ops.iter().copied().filter(|op| self.name(*op) == "func.func")
    }

    /// The shape of a vector, a reference to memory, or a tensor.
    #[must_use]
    pub fn shape<'m>(&'m self, ty: &'m Type) -> Option<&'m [i64]> {
        match ty {
            Type::MemRef { shape, .. } | Type::Tensor { shape, .. } | Type::Vector { shape, .. } => {
                Some(shape)
            }
            _ => None,
        }
    }

    /// How many elements a vector, a reference to memory, or a tensor has; `None` where a dimension is known at run time only.
    #[must_use]
    pub fn elements(&self, ty: &Type) -> Option<u64> {
        if let Type::Vector { scalable, .. } = ty
            && scalable.contains(&true)
        {
            return None;
        }
        product(self.shape(ty)?)
    }

    /// Bytes of what a reference to memory stands for, without padding; elements below a byte are packed. `None` where its
    /// size or its elements' is not known.
    #[must_use]
    pub fn bytes(&self, ty: &Type) -> Option<u64> {
        let (Type::MemRef { element, .. } | Type::Tensor { element, .. } | Type::Vector { element, .. }) = ty
        else {
            return None;
        };
        let bits = u64::from(self.bits(self.ty(*element))?);
        self.elements(ty)?.checked_mul(bits).map(|bits| bits.div_ceil(8))
    }

    /// Bits of a number in memory; a truth value takes a byte.
    pub(crate) fn bits(&self, element: &Type) -> Option<u32> {
        match element {
            Type::Integer { width: 1, .. } => Some(8),
            Type::Integer { width, .. } => Some(*width),
            Type::Float(float) => Some(float.width),
            Type::Index => Some(32),
            _ => None,
        }
    }

    /// The memory that a reference is into, such as `vmem`, `smem`, `hbm`, `any`, `semaphore_mem`; empty where it says none.
    #[must_use]
    pub fn space(&self, ty: &Type) -> &str {
        let (Type::MemRef { space: Some(space), .. } | Type::UnrankedMemRef { space: Some(space), .. }) = ty
        else {
            return "";
        };
        self.text_of(*space).and_then(inner).unwrap_or("")
    }
}

/// What stands between the brackets of `#tpu.name<...>`; the text itself where it has none.
#[must_use]
pub(crate) fn inner(text: &str) -> Option<&str> {
    match text.split_once('<') {
        Some((_, rest)) => rest.trim_end().strip_suffix('>'),
        None => Some(text),
    }
}

/// The product of extents; `None` where one is known at run time only, or it is over 64 bits.
pub(crate) fn product(shape: &[i64]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |product, extent| {
        let extent = u64::try_from(*extent).ok().filter(|_| *extent != DYNAMIC)?;
        product.checked_mul(extent)
    })
}

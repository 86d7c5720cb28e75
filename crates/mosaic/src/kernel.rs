//! A kernel: the function that runs for each place of a grid, and what surrounds it.

use std::collections::BTreeSet;

use crate::account::Account;
use crate::attribute::Attribute;
use crate::call::Call;
use crate::count::{Counter, Reason, trips};
use crate::error::Error;
use crate::ids::{AttributeId, OpId, TypeId, ValueId};
use crate::module::{Module, Origin, inner};
use crate::scalar;
use crate::types::Type;
use crate::windows::{self, Traffic};
use crate::work::{Range, Work};

/// A kernel of a module. Extents count elements, sizes are bytes.
#[derive(Debug, Clone)]
pub struct Kernel<'m> {
    module: &'m Module,
    function: OpId,
    /// Its name.
    pub name: &'m str,
    /// The core that it runs on: `tc` is the TensorCore, `sc_vector_subcore` a part of a SparseCore; empty where it says none.
    pub core: &'m str,
    /// Dimensions of its grid; the last one runs fastest. None where it runs once.
    pub grid: Vec<GridDimension<'m>>,
    /// What it is given, in order; places in the grid come first.
    pub arguments: Vec<Argument<'m>>,
}

/// A dimension of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridDimension<'m> {
    /// Its steps; `None` where they are known at run time only.
    pub extent: Option<u64>,
    /// What its steps owe each other: `parallel`, `arbitrary`, `core_parallel`, `subcore_parallel`; empty where it says nothing.
    pub semantics: &'m str,
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The place along a dimension of the grid.
    Place,
    /// Scalars that are there before the first step.
    Prefetch,
    /// A block of an operand or of a result, or the whole of it.
    Operand,
    /// Memory that lasts from step to step.
    Scratch,
}

/// An argument of a kernel.
#[derive(Debug, Clone)]
pub struct Argument<'m> {
    value: ValueId,
    /// What it is.
    pub role: Role,
    /// The memory that it is in: `vmem`, `smem`, `hbm`, `any`, `semaphore_mem`; empty for a place in the grid.
    pub space: &'m str,
    /// Its type as MLIR writes it.
    pub ty: String,
    /// Bytes of one block, without padding; `None` where they are not known.
    pub bytes: Option<u64>,
    /// How it is cut out of an array, where it is.
    pub window: Option<Window<'m>>,
    /// Whether the kernel writes to it.
    pub is_written: bool,
}

/// How blocks are cut out of an array.
#[derive(Debug, Clone)]
pub struct Window<'m> {
    /// Extents of a block; `None` for one that is known at run time only.
    pub block: Vec<Option<u64>>,
    /// The function from places of the grid to those of blocks.
    transform: Option<OpId>,
    /// Its name, or its map.
    pub transform_name: &'m str,
    /// `synchronous` where a block is not fetched ahead; empty for the usual pipeline.
    pub mode: &'m str,
}

/// A loop of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The operation.
    pub op: OpId,
    /// How many loops are around it.
    pub depth: usize,
    /// How often it runs each time, where its bounds are constants.
    pub trips: Option<u64>,
    /// Matrix products inside, as they stand in the code.
    pub products: usize,
}

/// A matrix product of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The operation.
    pub op: OpId,
    /// Types of both factors and of the result.
    pub types: [String; 3],
    /// The extent that is summed over.
    pub contracted: Option<u64>,
    /// FLOPs of one execution.
    pub flops: Option<u64>,
    /// Whether it stands in a branch.
    pub is_gated: bool,
    /// How many loops are around it.
    pub loops: usize,
}

impl Module {
    /// The kernel of the module: the function that has a grid, blocks or scratch, or the first one where none has.
    ///
    /// # Errors
    /// [`Error::NoKernel`] where there is no function.
    pub fn kernel(&self) -> Result<Kernel<'_>, Error> {
        const SIGNS: [&str; 5] =
            ["window_params", "iteration_bounds", "dimension_semantics", "scratch_operands", "tpu.core_type"];
        let is_kernel = |op: &OpId| SIGNS.iter().any(|sign| self.attribute(*op, sign).is_some());
        let function = self.functions().find(is_kernel).or_else(|| self.functions().next());
        Kernel::read(self, function.ok_or(Error::NoKernel)?)
    }

    fn count(&self, function: OpId, name: &str) -> usize {
        let count = self.attribute(function, name).and_then(|a| self.integer(a));
        count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
    }

    fn list(&self, op: OpId, name: &str) -> &[AttributeId] {
        match self.attribute(op, name) {
            Some(Attribute::Array(all)) => all,
            _ => &[],
        }
    }
}

impl<'m> Kernel<'m> {
    fn read(module: &'m Module, function: OpId) -> Result<Self, Error> {
        let text = |name: &str| module.attribute(function, name).and_then(|a| module.words(a));
        let bounds = module.attribute(function, "iteration_bounds").and_then(|a| module.integers(a));
        let semantics = module.list(function, "dimension_semantics");
        let grid: Vec<GridDimension<'_>> = bounds
            .unwrap_or_default()
            .iter()
            .enumerate()
            .map(|(index, extent)| GridDimension {
                extent: u64::try_from(*extent).ok(),
                semantics: semantics
                    .get(index)
                    .and_then(|a| module.text_of(*a))
                    .and_then(inner)
                    .unwrap_or(""),
            })
            .collect();
        let block = module.op(function).regions().next().and_then(|r| module.region(r).blocks().next());
        let values: Vec<ValueId> =
            block.map_or_else(Vec::new, |block| module.block(block).arguments().collect());
        let prefetch = module.count(function, "scalar_prefetch");
        let scratch = values.len().saturating_sub(module.count(function, "scratch_operands"));
        let windows = module.list(function, "window_params");
        let written = written(module);
        let operands = grid.len().saturating_add(prefetch);
        let arguments = values.iter().enumerate().map(|(index, value)| {
            let ty = module.type_of(*value);
            let role = match index {
                _ if index < grid.len() => Role::Place,
                _ if index < operands => Role::Prefetch,
                _ if index < scratch => Role::Operand,
                _ => Role::Scratch,
            };
            let window = (role == Role::Operand)
                .then(|| windows.get(index - operands).and_then(|w| Window::read(module, *w)))
                .flatten();
            Argument {
                value: *value,
                role,
                space: ty.map_or("", |ty| module.space(ty)),
                ty: module.type_id(*value).map_or_else(String::new, |ty| module.type_text(ty)),
                bytes: ty.and_then(|ty| module.bytes(ty)),
                window,
                is_written: written[value.index()],
            }
        });
        Ok(Self {
            module,
            function,
            name: text("sym_name").unwrap_or(""),
            core: text("tpu.core_type").and_then(inner).unwrap_or(""),
            arguments: arguments.collect(),
            grid,
        })
    }

    /// What it computes and moves in one execution, for a call of which this is known.
    #[must_use]
    pub fn account(&self, call: &Call) -> Account {
        let grid: Vec<Option<u64>> = self.grid.iter().map(|dimension| dimension.extent).collect();
        let mut counter = Counter::new(self.module);
        let prefetched = self.arguments.iter().filter(|argument| argument.role == Role::Prefetch);
        // What the kernel itself changes is known no more.
        let scalars: Vec<Option<&[i64]>> = prefetched
            .clone()
            .zip(&call.scalars)
            .map(|(argument, content)| content.as_deref().filter(|_| !argument.is_written))
            .collect();
        for (argument, content) in prefetched.zip(&scalars) {
            if let Some(content) = content {
                counter.holds(argument.value, content);
            }
        }
        let work = counter.grid(self.function, &grid);
        let mut all = Vec::new();
        let operands =
            self.arguments.iter().enumerate().filter(|(_, argument)| argument.role == Role::Operand);
        for (nth, (index, argument)) in operands.enumerate() {
            let Some(ty) = self.module.type_of(argument.value) else { continue };
            let window = argument.window.as_ref();
            let Some(window) = window.filter(|w| !w.block.is_empty() || w.transform.is_some()) else {
                all.extend(argument.whole(index, &mut counter.reasons));
                continue;
            };
            let (Some(transform), Some(block)) =
                (window.transform, window.block.iter().copied().collect::<Option<Vec<u64>>>())
            else {
                let unknown = Range::UNKNOWN;
                let is_written = argument.is_written;
                counter.reasons.insert(Reason::DataBlocks);
                all.push(Traffic {
                    argument: index,
                    copies: unknown,
                    bytes: unknown,
                    blocks: None,
                    is_written,
                });
                continue;
            };
            let asked = windows::Asked {
                transform,
                grid: &grid,
                block: &block,
                element_bits: self.element_bits(ty),
                scalars: &scalars,
                array: call.arrays.get(nth).and_then(Option::as_deref),
            };
            let (copies, bytes, blocks) = windows::count(&mut counter, &asked);
            all.push(Traffic { argument: index, copies, bytes, blocks, is_written: argument.is_written });
        }
        self.unknown_sizes(&work, &mut counter);
        Account {
            steps: grid.iter().try_fold(1_u64, |steps, extent| steps.checked_mul((*extent)?)),
            work,
            windows: all,
            reasons: counter.reasons.into_iter().collect(),
        }
    }

    /// Names the operations whose own work is not known, where that shows in the sum.
    fn unknown_sizes(&self, work: &Work, counter: &mut Counter<'_>) {
        let sums = [work.products, work.read_bytes, work.written_bytes, work.sent_bytes];
        if sums.iter().all(|sum| sum.at_most.is_some()) {
            return;
        }
        for (id, _) in self.module.ops() {
            let own = self.module.work(id);
            if own != own.with(own, |a, _| Range::exact(a.at_least)) {
                counter.reasons.insert(Reason::UnknownSize { op: self.module.name(id).to_owned() });
            }
        }
    }

    fn element_bits(&self, ty: &Type) -> Option<u64> {
        match ty {
            Type::MemRef { element, .. } => self.module.bits(self.module.ty(*element)).map(u64::from),
            _ => None,
        }
    }

    /// Memory that the kernel takes inside, such as the buffers of a pipeline of its own: the memory's space, its type, and its
    /// bytes.
    #[must_use]
    pub fn allocations(&self) -> Vec<(&'m str, String, Option<u64>)> {
        let of = |(id, op): (OpId, &crate::module::Op)| {
            if !matches!(self.module.name(id), "memref.alloca" | "memref.alloc" | "tpu.sem_alloc") {
                return None;
            }
            let ty: TypeId = self.module.type_id(op.results().next()?)?;
            let bytes = self.module.bytes(self.module.ty(ty));
            Some((self.module.space(self.module.ty(ty)), self.module.type_text(ty), bytes))
        };
        self.inside().filter_map(of).collect()
    }

    /// Operations of the kernel and of functions that it may call, those of index maps not among them.
    fn inside(&self) -> impl Iterator<Item = (OpId, &'m crate::module::Op)> {
        let transforms: Vec<OpId> =
            self.arguments.iter().filter_map(|a| a.window.as_ref()?.transform).collect();
        let module = self.module;
        module.ops().filter(move |(id, _)| {
            let mut around = Some(*id);
            while let Some(op) = around {
                if transforms.contains(&op) {
                    return false;
                }
                around = module.parent(op);
            }
            true
        })
    }

    /// Its loops, in the order of its code.
    #[must_use]
    pub fn loops(&self) -> Vec<Loop> {
        self.inside()
            .filter(|(id, _)| matches!(self.module.name(*id), "scf.for" | "scf.while"))
            .map(|(id, op)| {
                let bound = |index: usize| self.constant(*op.operands.get(index)?, 0);
                let trips = (self.module.name(id) == "scf.for")
                    .then(|| trips(bound(0), bound(1), bound(2)))
                    .flatten();
                let products =
                    self.products().iter().filter(|product| self.is_inside(product.op, id)).count();
                Loop { op: id, depth: self.loops_around(id), trips, products }
            })
            .collect()
    }

    /// Its matrix products, in the order of its code.
    #[must_use]
    pub fn products(&self) -> Vec<Product> {
        let module = self.module;
        let text = |value: Option<ValueId>| {
            value.and_then(|v| module.type_id(v)).map_or_else(String::new, |ty| module.type_text(ty))
        };
        self.inside()
            .filter(|(id, _)| matches!(module.name(*id), "tpu.matmul" | "vector.contract"))
            .map(|(id, op)| Product {
                op: id,
                types: [
                    text(op.operands.first().copied()),
                    text(op.operands.get(1).copied()),
                    text(op.results().next()),
                ],
                contracted: module.contracted(id),
                flops: module.product_flops(id),
                is_gated: self.around(id).any(|op| matches!(module.name(op), "scf.if" | "scf.index_switch")),
                loops: self.loops_around(id),
            })
            .collect()
    }

    fn around(&self, op: OpId) -> impl Iterator<Item = OpId> {
        std::iter::successors(self.module.parent(op), |op| self.module.parent(*op))
    }

    fn is_inside(&self, op: OpId, outer: OpId) -> bool {
        self.around(op).any(|around| around == outer)
    }

    fn loops_around(&self, op: OpId) -> usize {
        self.around(op).filter(|op| matches!(self.module.name(*op), "scf.for" | "scf.while")).count()
    }

    /// The value of an integer that hangs on constants alone.
    fn constant(&self, value: ValueId, depth: usize) -> Option<i64> {
        let Some(Origin::Result(op, _)) = self.module.origin(value) else { return None };
        if depth > 16 || self.module.op(op).regions().len() > 0 {
            return None;
        }
        let operands: Vec<Option<i64>> = match self.module.name(op) {
            name if !name.starts_with("arith.") => return None,
            _ => self.module.op(op).operands.iter().map(|o| self.constant(*o, depth + 4)).collect(),
        };
        scalar::evaluate(self.module, op, &operands)
    }
}

impl Argument<'_> {
    /// An operand that is no block: all of it is brought into the chip's memory before the kernel's first step, or taken from
    /// there behind its last one. Of one that stays where it is, the kernel copies what it wants itself.
    fn whole(&self, index: usize, reasons: &mut BTreeSet<Reason>) -> Option<Traffic> {
        if !matches!(self.space, "vmem" | "smem" | "cmem") {
            return None;
        }
        if self.bytes.is_none() {
            reasons.insert(Reason::UnknownSize { op: self.ty.clone() });
        }
        Some(Traffic {
            argument: index,
            copies: Range::exact(1),
            bytes: Range::of(self.bytes),
            blocks: Some(1),
            is_written: self.is_written,
        })
    }
}

impl<'m> Window<'m> {
    fn read(module: &'m Module, window: AttributeId) -> Option<Self> {
        let bounds = module.member(window, "window_bounds").and_then(|a| module.integers(a));
        let transform = module.member(window, "transform_indices");
        let transform_name = transform.and_then(|a| module.words(a)).unwrap_or("");
        let mode = module.member(window, "pipeline_mode").and_then(|a| module.words(a)).and_then(inner);
        Some(Self {
            block: bounds?.iter().map(|extent| u64::try_from(*extent).ok()).collect(),
            transform: module.function(transform_name),
            transform_name,
            mode: mode.unwrap_or(""),
        })
    }
}

/// Which values are references to memory that the module writes, through slices of them too.
fn written(module: &Module) -> Vec<bool> {
    let mut written = vec![false; module.values.len()];
    for (id, op) in module.ops() {
        let name = module.name(id);
        let target = match name {
            "tpu.vector_store" | "vector.store" | "memref.store" | "tpu.strided_store" | "tpu.store" => {
                op.operands.get(1)
            }
            "tpu.vector_store_idx" | "tpu.shuffled_store" => op.operands.first(),
            // Source, its semaphore where it has one, target, its semaphore.
            "tpu.enqueue_dma" => {
                let has_source_semaphore = module
                    .attribute(id, "operandSegmentSizes")
                    .and_then(|a| module.integers(a))
                    .is_some_and(|sizes| sizes.get(1) == Some(&1));
                op.operands.get(1 + usize::from(has_source_semaphore))
            }
            "tpu.enqueue_indirect_dma" => op.operands.get(1),
            _ => None,
        };
        let mut at = target.copied();
        // A slice stands behind what it is cut out of, so this ends.
        for _ in 0..module.ops.len() {
            let Some(value) = at else { break };
            if std::mem::replace(&mut written[value.index()], true) {
                break;
            }
            at = match module.origin(value) {
                Some(Origin::Result(op, _))
                    if module.name(op).starts_with("tpu.memref_")
                        || module.name(op).starts_with("memref.") =>
                {
                    module.op(op).operands.first().copied()
                }
                _ => None,
            };
        }
    }
    written
}

//! Matrix products: dots, and the convolutions that are one.
//!
//! TPU's compiler writes every matrix product as a convolution. Each spatial dimension of such a one is a dimension of a
//! matrix in disguise: rows (the kernel's extent is 1), columns (the input's is 1), summed over (the output's is 1), or batch
//! (input, kernel and output have one extent and each output position meets exactly one pair).

use crate::{
    backend_config, cost::valid_positions, element::ElementType, index::InstructionIdx,
    instruction::Instruction, module::Module, opcode::Opcode, shape::Shape,
};

/// A matrix product `[batch] m x k` times `k x n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matmul {
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// Extent that is summed over.
    pub k: u64,
    /// Independent products.
    pub batch: u64,
    /// Element type of the left operand.
    pub lhs: ElementType,
    /// Element type of the right operand.
    pub rhs: ElementType,
    /// Element type of the result.
    pub result: ElementType,
}

impl Matmul {
    /// Operations of one execution: `2 * batch * m * n * k`, a multiply-add being two.
    #[must_use]
    pub fn flops(&self) -> Option<u64> {
        [self.batch, self.m, self.n, self.k].into_iter().try_fold(2u64, u64::checked_mul)
    }

    /// The share of a matrix unit of `edge` by `edge` that the product fills: `k * n` over both rounded up to whole edges.
    /// `None` for empty products.
    #[must_use]
    pub fn fill(&self, edge: u64) -> Option<f64> {
        let round = |extent: u64| extent.checked_next_multiple_of(edge).filter(|whole| *whole > 0);
        let used = round(self.k)?.checked_mul(round(self.n)?)?;
        Some(self.k.checked_mul(self.n)? as f64 / used as f64)
    }
}

impl Module {
    /// The matrix product that an instruction is: a `dot`, a `convolution` that is one, or a call of cuBLAS. `None` for all else
    /// and for shapes that do not fit together.
    #[must_use]
    pub fn matmul(&self, index: InstructionIdx) -> Option<Matmul> {
        let hlo = self.instruction(index);
        let &[lhs, rhs, ..] = hlo.operands.as_slice() else { return None };
        let (lhs, rhs) = (&self.instruction(lhs).shape, &self.instruction(rhs).shape);
        let [m, n, k, batch] = match hlo.opcode {
            Opcode::Dot => of_dot(hlo, lhs, rhs)?,
            Opcode::Convolution => of_convolution(hlo, lhs, rhs)?,
            Opcode::CustomCall if calls_cublas(hlo) => of_cublas(hlo, lhs, rhs)?,
            _ => return None,
        };
        // A library's result comes with its scratch memory.
        let result = hlo.shape.tuple_shapes.first().unwrap_or(&hlo.shape);
        let types = (lhs.element_type, rhs.element_type, result.element_type);
        Some(Matmul { m, n, k, batch, lhs: types.0, rhs: types.1, result: types.2 })
    }
}

impl Module {
    /// Whether both operands of a product are asked to count in full: precision `highest` of a `dot`, a `convolution` or a call of
    /// cuBLAS. On NVIDIA's GPUs products of 32-bit floats are then kept from the tensor cores.
    #[must_use]
    pub fn is_highest_precision(&self, index: InstructionIdx) -> bool {
        let attributes = self.instruction(index).attributes();
        match &attributes.precision {
            Some((operands, _)) if !operands.is_empty() => operands.iter().all(|operand| *operand == HIGHEST),
            _ => backend_config::operand_precision(&attributes.backend_config).is_some_and(|operands| {
                !operands.is_empty() && operands.iter().all(|word| *word == "HIGHEST")
            }),
        }
    }
}

/// `PrecisionConfig::HIGHEST`.
const HIGHEST: i32 = 2;

fn calls_cublas(hlo: &Instruction) -> bool {
    hlo.attributes().custom_call_target.as_deref().is_some_and(|target| target.starts_with("__cublas$"))
}

/// The dimension numbers are in the backend's JSON.
fn of_cublas(hlo: &Instruction, lhs: &Shape, rhs: &Shape) -> Option<[u64; 4]> {
    let config = &hlo.attributes().backend_config;
    let k = product(lhs, &backend_config::lhs_contracting_dimensions(config)?)?;
    let batch = product(lhs, &backend_config::lhs_batch_dimensions(config).unwrap_or_default())?;
    let shared = batch.checked_mul(k).filter(|shared| *shared > 0)?;
    Some([lhs.element_count()? / shared, rhs.element_count()? / shared, k, batch])
}

fn extent(shape: &Shape, dim: i64) -> Option<u64> {
    u64::try_from(*shape.dimensions.get(usize::try_from(dim).ok()?)?).ok()
}

fn product(shape: &Shape, dims: &[i64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |all, dim| all.checked_mul(extent(shape, *dim)?))
}

fn of_dot(hlo: &Instruction, lhs: &Shape, rhs: &Shape) -> Option<[u64; 4]> {
    let dims = hlo.attributes().dot.as_ref()?;
    let batch = product(lhs, &dims.lhs_batch)?;
    let k = product(lhs, &dims.lhs_contracting)?;
    let shared = batch.checked_mul(k).filter(|shared| *shared > 0)?;
    Some([lhs.element_count()? / shared, rhs.element_count()? / shared, k, batch])
}

fn of_convolution(hlo: &Instruction, lhs: &Shape, rhs: &Shape) -> Option<[u64; 4]> {
    let attributes = hlo.attributes();
    let dims = attributes.convolution.as_ref()?;
    let groups = |count: Option<i64>| u64::try_from(count.unwrap_or(1)).ok().filter(|groups| *groups > 0);
    let feature_groups = groups(attributes.feature_group_count)?;
    let batch_groups = groups(attributes.batch_group_count)?;
    let mut batch = feature_groups.checked_mul(batch_groups)?;
    let mut m = extent(lhs, dims.input_batch)? / batch_groups;
    let mut k = extent(lhs, dims.input_feature)? / feature_groups;
    let mut n = extent(rhs, dims.kernel_output_feature)? / batch;
    for (at, window) in attributes.window.iter().enumerate() {
        let input = extent(lhs, *dims.input_spatial.get(at)?)?;
        let kernel = extent(rhs, *dims.kernel_spatial.get(at)?)?;
        let output = extent(&hlo.shape, *dims.output_spatial.get(at)?)?;
        // Every pair of positions that meet, each with its own output position.
        let pairs = valid_positions(window, input, kernel, output)?;
        let slot = match (input, kernel, output) {
            (i, 1, o) if i == o && pairs == i => &mut m,
            (1, w, o) if w == o && pairs == w => &mut n,
            (i, w, 1) if i == w && pairs == i => &mut k,
            (i, w, o) if i == w && w == o && pairs == o => &mut batch,
            _ => return None,
        };
        *slot = slot.checked_mul(pairs)?;
    }
    Some([m, n, k, batch])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lhs: &str, rhs: &str, result: &str, attributes: &str) -> Option<[u64; 4]> {
        let opcode = if attributes.contains("dim_labels") { "convolution" } else { "dot" };
        let text = format!(
            "HloModule m\n\nENTRY e {{\n  a = {lhs} parameter(0)\n  b = {rhs} parameter(1)\n  ROOT c = {result} {opcode}(a, b), {attributes}\n}}\n"
        );
        let module = Module::parse(&text).unwrap();
        let index = module.instruction_by_name("c").unwrap();
        let found = module.matmul(index)?;
        // The cost model counts the same operations by its own rules.
        assert_eq!(found.flops(), module.cost_analysis().instruction(index).flops, "{attributes}");
        Some([found.m, found.n, found.k, found.batch])
    }

    #[test]
    fn dots() {
        let dims =
            "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}";
        assert_eq!(of("bf16[4,8,32]", "bf16[4,32,16]", "f32[4,8,16]", dims), Some([8, 16, 32, 4]));
        let vector = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
        assert_eq!(of("f32[8,32]", "f32[32]", "f32[8]", vector), Some([8, 1, 32, 1]));
    }

    /// Forms that TPU's compiler writes.
    #[test]
    fn calls_of_cublas() {
        let call = |precision: &str| {
            let text = format!(
                r#"HloModule m

ENTRY e {{
  a = bf16[4,8,32] parameter(0)
  b = bf16[4,32,16] parameter(1)
  ROOT c = (bf16[4,8,16], s8[64]) custom-call(a, b), custom_call_target="__cublas$lt$matmul", backend_config={{"gemm_backend_config":{{"dot_dimension_numbers":{{"lhs_contracting_dimensions":["2"],"rhs_contracting_dimensions":["1"],"lhs_batch_dimensions":["0"],"rhs_batch_dimensions":["0"]}},"precision_config":{{"operand_precision":["{precision}","{precision}"]}}}}}}
}}
"#
            );
            let module = Module::parse(&text).unwrap();
            let index = module.instruction_by_name("c").unwrap();
            let found = module.matmul(index).unwrap();
            assert_eq!([found.m, found.n, found.k, found.batch], [8, 16, 32, 4]);
            assert_eq!(found.result, ElementType::Bf16);
            assert_eq!(found.flops(), module.cost_analysis().instruction(index).flops);
            module.is_highest_precision(index)
        };
        assert!(call("HIGHEST"));
        assert!(!call("DEFAULT"));
    }

    #[test]
    fn convolutions_that_are_products() {
        assert_eq!(
            of("f32[8,2048]", "f32[1024,8]", "f32[2048,1024]", "dim_labels=fb_oi->bf"),
            Some([2048, 1024, 8, 1])
        );
        let heads = "window={size=1x32 pad=0_0x31_31 rhs_reversal=0x1}, dim_labels=0bf1_1oi0->0b1f";
        assert_eq!(
            of("bf16[4,819,409,1]", "bf16[32,128,409,1]", "bf16[4,819,32,128]", heads),
            Some([4 * 819, 32 * 128, 409, 1])
        );
        let rows = "window={size=1}, dim_labels=0bf_oi0->0bf";
        assert_eq!(of("bf16[4,81,40]", "bf16[14,40,1]", "bf16[4,81,14]", rows), Some([4 * 81, 14, 40, 1]));
        let summed = "window={size=32}, dim_labels=0bf_0io->0bf";
        assert_eq!(of("bf16[32,8,64]", "bf16[32,64,16]", "bf16[1,8,16]", summed), Some([8, 16, 64 * 32, 1]));
        let batch = "window={size=8 stride=7 lhs_dilate=8}, dim_labels=0bf_0io->0bf";
        assert_eq!(of("bf16[8,5,64]", "bf16[8,64,16]", "bf16[8,5,16]", batch), Some([5, 16, 64, 8]));
    }

    #[test]
    fn convolutions_that_are_none() {
        let image = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f";
        assert_eq!(of("f32[2,8,8,4]", "f32[3,3,4,16]", "f32[2,8,8,16]", image), None);
    }

    #[test]
    fn matrix_units_are_filled_by_whole_edges() {
        let product = Matmul {
            m: 8,
            n: 64,
            k: 384,
            batch: 1,
            lhs: ElementType::Bf16,
            rhs: ElementType::Bf16,
            result: ElementType::F32,
        };
        assert_eq!((product.fill(128), product.fill(256)), (Some(0.5), Some(64.0 * 384.0 / (256.0 * 512.0))));
        assert_eq!(Matmul { k: 0, ..product }.fill(128), None);
    }
}

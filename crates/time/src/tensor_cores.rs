//! Which kernels multiply matrices on the units made for it (tensor cores, AMD's matrix cores), and which ops could. All
//! of it goes by names, which are a convention of the libraries that hold the kernels: the lists are those of XProf 2.24.2.

/// Parts of the names of NVIDIA's kernels.
const NVIDIA: [&str; 19] = [
    "16816",
    "c1688",
    "conv1x1",
    "conv2d_c1_k1",
    "dgrad_1x1_stride_2x2",
    "direct_group",
    "first_layer_wgrad_kernel",
    "h1688",
    "h884",
    "hmma",
    "i16832",
    "i8816",
    "s1688",
    "s884",
    "xmma_gemm",
    "xmma_implicit_gemm",
    "xmma_sparse_conv",
    "xmma_sparse_gemm",
    "xmma_warp_specialized_implicit_gemm",
];

/// Parts of the names of AMD's kernels, beside the instruction's shape ([`names_mfma_shape`]).
const AMD: [&str; 13] = [
    "Custom_Cijk_",
    "FMHA_FWD",
    "_xdl",
    "aiter",
    "attn_fwd",
    "bwd_kernel_",
    "gemm_fusion",
    "gtcx",
    "mfma",
    "miopenSp3AsmConvRage",
    "moe_gemm",
    "moe_mxgemm",
    "wmma",
];

/// Kernels of AMD's Composable Kernel library, old and new; names may be mangled.
const CK: [&str; 3] = ["ck_tile::", "N2ck", "ck::"];
/// What its kernels that are made of matrix instructions have in their names, in small letters.
const CK_PRODUCTS: [&str; 9] =
    ["gemm", "fmha", "grouped_conv", "groupedconv", "conv_fwd", "conv_bwd", "attention", "matmul", "xdl"];
/// Parts of attention that are none: the product of the output and its gradient, element by element, and conversions.
const CK_OTHERS: [&str; 3] = ["ograddoto", "bwdconvert", "splitkvcombine"];
/// Parts of the names of the kernels of other libraries that XProf does not know: of NVIDIA's libraries for Hopper and Blackwell,
/// of cuDNN's fused attention, of CUTLASS.
const NVIDIA_MORE: [&str; 7] = [
    "wgmma",
    "utcmma",
    "tcgen05",
    "cudnn_generated_fort_native_sdpa",
    "nvjet_",
    "tensorop",
    "flash_fwd_kernel",
];

/// Ends of the names of framework ops whose work is a matrix product or a convolution.
const OP_ENDS: [&str; 12] = [
    "Conv2D",
    "Conv2DBackpropFilter",
    "Conv2DBackpropInput",
    "Conv3D",
    "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput",
    "/MatMul",
    "FusedMatMul",
    "/CudnnRNN",
    "XlaDot",
    "XlaDotV2",
];

/// Parts of them.
const OP_PARTS: [&str; 6] = [
    "BatchMatMul",
    "CudnnRNNV",
    "CudnnRNNForward",
    "CudnnRNNBackprop",
    "dot_general",
    "conv_general_dilated",
];

/// True if a kernel of this name multiplies matrices on such units. `vendor` is the plane's stat `device_vendor`; where it
/// is missing (profiles of before 2025) nothing is said of any kernel.
#[must_use]
pub fn used_by(vendor: Option<&str>, kernel: &str) -> bool {
    match vendor {
        Some("Nvidia") => NVIDIA.iter().any(|part| kernel.contains(part)),
        Some("AMD") => {
            AMD.iter().any(|part| kernel.contains(part)) || names_mfma_shape(kernel) || is_ck_product(kernel)
        }
        _ => false,
    }
}

/// The same by more names than XProf knows, and of profiles that state no vendor.
#[must_use]
pub fn surely_used_by(vendor: Option<&str>, kernel: &str) -> bool {
    let is_amd = vendor == Some("AMD");
    let vendor = Some(if is_amd { "AMD" } else { "Nvidia" });
    used_by(vendor, kernel) || !is_amd && NVIDIA_MORE.iter().any(|part| kernel.contains(part))
}

/// True for the Composable Kernel library's matrix products and attention.
fn is_ck_product(kernel: &str) -> bool {
    let has = |name: &str, parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let lower = kernel.to_ascii_lowercase();
    has(kernel, &CK) && has(&lower, &CK_PRODUCTS) && !has(&lower, &CK_OTHERS)
}

/// True for names with `_MI16x16x16…`: the shape of the matrix instruction that Tensile's kernels are built on.
fn names_mfma_shape(kernel: &str) -> bool {
    fn after_number(text: &str) -> Option<&str> {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < text.len()).then_some(rest)
    }
    let mut shapes = kernel.match_indices("_MI").map(|(at, mark)| &kernel[at + mark.len()..]);
    shapes.any(|shape| {
        let rest = after_number(shape).and_then(|s| s.strip_prefix('x')).and_then(after_number);
        rest.and_then(|s| s.strip_prefix('x')).and_then(after_number).is_some()
    })
}

/// True if the work of a framework op of this name (scope path without type) is a matrix product or a convolution.
#[must_use]
pub fn could_do(framework_op: &str) -> bool {
    OP_ENDS.iter().any(|end| framework_op.ends_with(end)) || OP_PARTS.iter().any(|p| framework_op.contains(p))
}

/// True for TensorFlow's op types whose work is a matrix product or a convolution, fused ones too: `_FusedConv2D`.
#[must_use]
pub fn could_do_type(op_type: &str) -> bool {
    let base = op_type.trim_start_matches("_Fused").trim_start_matches("Fused");
    ["Conv2D", "Conv3D", "DepthwiseConv2dNative", "MatMul", "BatchMatMul", "CudnnRNN", "XlaDot"]
        .iter()
        .any(|word| base.starts_with(word))
}

/// True for an einsum of two operands: `ab,bc->ac`.
#[must_use]
pub fn could_do_einsum(equation: &str) -> bool {
    let mut sides = equation.split("->");
    let operands = sides.next().unwrap_or_default().split(',').count();
    sides.next().is_some() && sides.next().is_none() && operands == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_by_name() {
        assert!(used_by(Some("Nvidia"), "volta_h884gemm_128x64") && !used_by(None, "volta_h884gemm_128x64"));
        assert!(!used_by(Some("Nvidia"), "gemm_fusion_dot_1") && used_by(Some("AMD"), "gemm_fusion_dot_1"));
        let tensile = "Cijk_Ailk_Bljk_BBS_BH_MT256x128x32_MI16x16x16x1_SN_1LDSB1";
        assert!(used_by(Some("AMD"), tensile) && !used_by(Some("AMD"), "Cijk_Ailk_Bljk_SB_MT64x64x8_SE"));
        assert!(used_by(Some("AMD"), "_MI6x6x1") && !used_by(Some("AMD"), "Cijk_Ailk_MI16x16"));
    }

    #[test]
    fn kernels_of_other_libraries() {
        let tile = |kernel: &str| {
            let name =
                format!("void ck_tile::kentry<ck_tile::gfx950_t, 1, ck_tile::{kernel}<ck_tile::Block> >");
            (used_by(Some("AMD"), &name), surely_used_by(Some("AMD"), &name))
        };
        assert_eq!(tile("FmhaBwdDQDKDVKernel"), (true, true));
        assert_eq!(tile("FmhaFwdKernel"), (true, true));
        assert_eq!(tile("FmhaBwdOGradDotOKernel"), (false, false), "element by element");
        assert_eq!(tile("Rmsnorm2dFwd"), (false, false));
        assert!(surely_used_by(Some("Nvidia"), "nvjet_hsh_128x256_64x4"));
        assert!(
            surely_used_by(None, "volta_h884gemm_128x64") && !surely_used_by(None, "volta_sgemm_128x64_nn")
        );
    }

    #[test]
    fn ops_by_name() {
        assert!(could_do("jit(f)/dot_general") && could_do("model/layer/MatMul") && could_do("XlaDotV2"));
        assert!(!could_do("MatMul") && !could_do("jit(f)/dot") && !could_do("a/MatMul_1"));
        assert!(could_do_type("_FusedConv2D") && could_do_type("BatchMatMulV2") && !could_do_type("Relu"));
        assert!(could_do_einsum("ab,bc->ac") && !could_do_einsum("abc->ac") && !could_do_einsum(""));
        assert!(!could_do_einsum("a,b->c->d"));
    }
}

import { expect, it } from "vitest";

import { foldName } from "./names";

it("folds what a C++ compiler wrote in full", () => {
  expect(foldName("void cudnn::cnn::wgrad_alg0_engine<float, 512, 6, 5, 3, 3, 3, false, 512>(int, int, int, float const*)")).toBe(
    "wgrad_alg0_engine<float, 512, 6, 5, 3, 3, 3, false, 512>",
  );
  expect(
    foldName("void ck_tile::kentry<ck_tile::gfx950_t, 1, ck_tile::FmhaBwdKernel<ck_tile::Pipeline<std::bfloat16_t, float> > >(Args<int>)"),
  ).toBe("kentry<gfx950_t, 1, FmhaBwdKernel<…>>");
  expect(foldName("void at::native::vectorized_elementwise_kernel(int, std::array<char*, 2ul>)")).toBe("vectorized_elementwise_kernel");
});

it("reads a name that was cut", () => {
  expect(foldName("void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::Tens")).toBe(
    "EigenMetaKernel<TensorEvaluator<…>>",
  );
});

it("leaves everything else as it is", () => {
  const hlo = "%fusion.12 = bf16[8,2048]{1,0:T(8,128)(2,1)} fusion(%a, %b), kind=kLoop";
  const asm = "Cijk_Ailk_Bljk_BBS_BH_MT256x224x64_MI16x16x16x1_SN_1LDSB1_APM1.kd";
  const scope = "jit(train_step)/transpose(jvp(layer<0>))/dot_general/and/so/on";
  for (const name of ["fusion.1", "a<b>", hlo, asm, scope]) expect(foldName(name)).toBe(name);
});

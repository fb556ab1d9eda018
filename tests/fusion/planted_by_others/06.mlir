// producer: linalg.transpose
// consumer: linalg.matmul
// cause: folded-transpose
// step: transform.apply_patterns
// repair: no
func.func @scores(%q: tensor<32x64xf32>, %k: tensor<64x64xf32>) -> (tensor<32x64xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e0 = tensor.empty() : tensor<64x64xf32>
  %kt = linalg.transpose ins(%k : tensor<64x64xf32>) outs(%e0 : tensor<64x64xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<32x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32x64xf32>) -> tensor<32x64xf32>
  %s = linalg.matmul ins(%q, %kt : tensor<32x64xf32>, tensor<64x64xf32>) outs(%init : tensor<32x64xf32>) -> tensor<32x64xf32>
  %e2 = tensor.empty() : tensor<64x64xf32>
  %scaled = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"], role = "scale"}
      ins(%kt : tensor<64x64xf32>) outs(%e2 : tensor<64x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %r = arith.mulf %p, %half : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  return %s, %scaled : tensor<32x64xf32>, tensor<64x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %mm = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.op<"linalg.matmul">
    %packed = transform.structured.pack %mm packed_sizes = [8, 16, 16] : (!transform.op<"linalg.matmul">) -> !transform.op<"linalg.generic">
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    %rhs = transform.get_producer_of_operand %packed[1] : (!transform.op<"linalg.generic">) -> !transform.any_op
    %rhs_t, %l:2 = transform.structured.fuse %rhs tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// producer: 18
// consumer: 20
// cause: dead-handle
// repair: yes
// Two functions of a decoder in f16: scores with a mask, and a plain sum of two heads.
module {
  func.func @sum(%a: tensor<16x1x80xf16>, %b: tensor<16x1x80xf16>) -> tensor<16x1x80xf16> {
    %e = tensor.empty() : tensor<16x1x80xf16>
    %s = linalg.sub ins(%a, %b : tensor<16x1x80xf16>, tensor<16x1x80xf16>) outs(%e : tensor<16x1x80xf16>) -> tensor<16x1x80xf16>
    return %s : tensor<16x1x80xf16>
  }
  func.func @masked(%q: tensor<16x48x80xf16>, %k: tensor<16x80x?xf16>, %mask: tensor<16x48x?xf16>) -> tensor<16x48x?xf16> {
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0.0 : f16
    %len = tensor.dim %k, %c2 : tensor<16x80x?xf16>
    %e = tensor.empty(%len) : tensor<16x48x?xf16>
    %init = linalg.fill ins(%zero : f16) outs(%e : tensor<16x48x?xf16>) -> tensor<16x48x?xf16>
    %scores = linalg.batch_matmul ins(%q, %k : tensor<16x48x80xf16>, tensor<16x80x?xf16>) outs(%init : tensor<16x48x?xf16>) -> tensor<16x48x?xf16>
    %e1 = tensor.empty(%len) : tensor<16x48x?xf16>
    %masked = linalg.add ins(%scores, %mask : tensor<16x48x?xf16>, tensor<16x48x?xf16>) outs(%e1 : tensor<16x48x?xf16>) -> tensor<16x48x?xf16>
    return %masked : tensor<16x48x?xf16>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %masked = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %scores = transform.get_producer_of_operand %masked[0] : (!transform.any_op) -> !transform.any_op
    %func = transform.get_parent_op %masked {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    // All ops in one form.
    %general = transform.apply_registered_pass "linalg-generalize-named-ops" to %func : (!transform.any_op) -> !transform.any_op
    %ops = transform.structured.match ops{["linalg.generic"]} in %general : (!transform.any_op) -> !transform.any_op
    %init, %product, %sum = transform.split_handle %ops : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.tile_using_forall %sum tile_sizes [1, 12, 128] (mapping = [#gpu.block<z>, #gpu.block<y>, #gpu.block<x>])
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %scores_tile, %loop_1 = transform.structured.fuse_into_containing_op %scores into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

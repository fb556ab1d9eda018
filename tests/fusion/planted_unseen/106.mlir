// producer: 15
// consumer: 22
// cause: map
// repair: yes
// Shifted scores of attention, as an exporter writes them: the maximum of a row keeps a dimension of one.
#all = affine_map<(b, h, q, k) -> (b, h, q, k)>
#kept = affine_map<(b, h, q, k) -> (b, h, q, 0)>
module {
  func.func @shift(%scores: tensor<2x8x?x128xf16>) -> tensor<2x8x?x128xf16> {
    %c2 = arith.constant 2 : index
    %low = arith.constant 0xFC00 : f16
    %q = tensor.dim %scores, %c2 : tensor<2x8x?x128xf16>
    %e = tensor.empty(%q) : tensor<2x8x?x1xf16>
    %init = linalg.fill ins(%low : f16) outs(%e : tensor<2x8x?x1xf16>) -> tensor<2x8x?x1xf16>
    %highest = linalg.generic {indexing_maps = [#all, #kept], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%scores : tensor<2x8x?x128xf16>) outs(%init : tensor<2x8x?x1xf16>) {
    ^bb0(%v: f16, %acc: f16):
      %m = arith.maximumf %acc, %v : f16
      linalg.yield %m : f16
    } -> tensor<2x8x?x1xf16>
    %e1 = tensor.empty(%q) : tensor<2x8x?x128xf16>
    %shifted = linalg.generic {indexing_maps = [#all, #kept, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%scores, %highest : tensor<2x8x?x128xf16>, tensor<2x8x?x1xf16>) outs(%e1 : tensor<2x8x?x128xf16>) {
    ^bb0(%v: f16, %h: f16, %out: f16):
      %d = arith.subf %v, %h : f16
      %p = math.exp %d : f16
      linalg.yield %p : f16
    } -> tensor<2x8x?x128xf16>
    return %shifted : tensor<2x8x?x128xf16>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %exp = transform.structured.match ops{["math.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %shifted = transform.get_parent_op %exp {op_name = "linalg.generic"} : (!transform.any_op) -> !transform.any_op
    // Heads over threads, four rows at a time, each with its maximum.
    %tile, %loop = transform.structured.fuse %shifted tile_sizes [1, 1, 4] {use_forall}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tidy = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %tidy {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %tidy : !transform.any_op
    transform.yield
  }
}

// producer: 15
// consumer: 18
// cause: wrong-order
// repair: yes
// Attention scores of one head: the keys are turned, then multiplied with the queries; bf16 in, f32 out.
module {
  func.func private @unrelated(%a: tensor<96xf32>) -> tensor<96xf32> {
    %e = tensor.empty() : tensor<96xf32>
    %r = linalg.exp ins(%a : tensor<96xf32>) outs(%e : tensor<96xf32>) -> tensor<96xf32>
    return %r : tensor<96xf32>
  }
  func.func @scores(%q: tensor<128x64xbf16>, %k: tensor<96x64xbf16>) -> tensor<128x96xf32> {
    %zero = arith.constant 0.0 : f32
    %ek = tensor.empty() : tensor<64x96xbf16>
    %kt = linalg.transpose ins(%k : tensor<96x64xbf16>) outs(%ek : tensor<64x96xbf16>) permutation = [1, 0] {tag = "turn_keys"}
    %es = tensor.empty() : tensor<128x96xf32>
    %init = linalg.fill ins(%zero : f32) outs(%es : tensor<128x96xf32>) -> tensor<128x96xf32>
    %s = linalg.matmul {tag = "scores"} ins(%q, %kt : tensor<128x64xbf16>, tensor<64x96xbf16>) outs(%init : tensor<128x96xf32>) -> tensor<128x96xf32>
    return %s : tensor<128x96xf32>
  }
}

// -----

// Block the product, get rid of the packs (nobody vectorizes those), then blocks in parallel with the keys inside.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %funcs = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %blocked = transform.apply_registered_pass "linalg-block-pack-matmul" with options = {"block-factors" = [16, 16, 32]} to %funcs
      : (!transform.any_op) -> !transform.any_op
    %product = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %turn = transform.structured.match attributes {tag = "turn_keys"} in %root : (!transform.any_op) -> !transform.any_op
    %packs = transform.structured.match ops{["linalg.pack"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %packs : !transform.any_op {
    ^bb0(%p: !transform.any_op):
      %pack = transform.cast %p : !transform.any_op to !transform.op<"linalg.pack">
      %pad, %expand, %tr = transform.structured.lower_pack %pack : (!transform.op<"linalg.pack">)
        -> (!transform.op<"tensor.pad">, !transform.op<"tensor.expand_shape">, !transform.op<"linalg.transpose">)
    }
    %relaid = transform.get_producer_of_operand %product[1] : (!transform.any_op) -> !transform.any_op
    %block, %grid = transform.structured.tile_using_forall %product tile_sizes [1, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %relaid_in, %grid_1 = transform.structured.fuse_into_containing_op %relaid into %grid
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %turn_in, %grid_2 = transform.structured.fuse_into_containing_op %turn into %grid_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// producer: 11
// consumer: 15
// cause: empty-handle
// repair: yes
// An exporter's einsum over heads, then a gate, elementwise; and an ordinary product in a function of its own.
module {
  func.func @mix(%x: tensor<6x40x24xf32>, %heads: tensor<24x6x72xf32>, %gate: tensor<6x40x72xf32>) -> tensor<6x40x72xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<6x40x72xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x40x72xf32>) -> tensor<6x40x72xf32>
    %mixed = linalg.contract
        indexing_maps = [affine_map<(h, s, d, k) -> (h, s, k)>, affine_map<(h, s, d, k) -> (k, h, d)>, affine_map<(h, s, d, k) -> (h, s, d)>]
        ins(%x, %heads : tensor<6x40x24xf32>, tensor<24x6x72xf32>) outs(%init : tensor<6x40x72xf32>) -> tensor<6x40x72xf32>
    %e1 = tensor.empty() : tensor<6x40x72xf32>
    %gated = linalg.elementwise kind=#linalg.elementwise_kind<mul>
        ins(%mixed, %gate : tensor<6x40x72xf32>, tensor<6x40x72xf32>) outs(%e1 : tensor<6x40x72xf32>) -> tensor<6x40x72xf32>
    return %gated : tensor<6x40x72xf32>
  }
  func.func @plain(%a: tensor<40x24xf32>, %b: tensor<24x72xf32>, %c: tensor<40x72xf32>) -> tensor<40x72xf32> {
    %p = linalg.matmul ins(%a, %b : tensor<40x24xf32>, tensor<24x72xf32>) outs(%c : tensor<40x72xf32>) -> tensor<40x72xf32>
    return %p : tensor<40x72xf32>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %func = transform.structured.match ops{["func.func"]} attributes{sym_name = "mix"} in %root : (!transform.any_op) -> !transform.any_op
    %gated = transform.structured.match ops{["linalg.elementwise"]} in %func : (!transform.any_op) -> !transform.any_op
    %mixed = transform.structured.match ops{["linalg.batch_matmul", "linalg.matmul"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.tile_using_for %gated tile_sizes [1, 8, 24]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %mixed_tile, %loop_1 = transform.structured.fuse_into_containing_op %mixed into %loops#2
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// producer: 10
// consumer: 23
// cause: wrong-order
// repair: yes
// Weights of an attention over bf16 logits: e = exp(x) is turned into the layout of the next product, and summed by rows.
#m = affine_map<(i, j, k) -> (i, j, k)>
#t = affine_map<(i, j, k) -> (j, i, k)>
func.func @weights(%x: tensor<8x48x96xbf16>, %scale: bf16, %sums: tensor<8x48xf32>) -> (tensor<48x8x96xbf16>, tensor<8x48xf32>) {
  %e_empty = tensor.empty() : tensor<8x48x96xbf16>
  %e = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<8x48x96xbf16>) outs(%e_empty : tensor<8x48x96xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %v = math.exp %a : bf16
    linalg.yield %v : bf16
  } -> tensor<8x48x96xbf16>
  %g_empty = tensor.empty() : tensor<48x8x96xbf16>
  %turned = linalg.generic {indexing_maps = [#m, #t], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e : tensor<8x48x96xbf16>) outs(%g_empty : tensor<48x8x96xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %v = arith.mulf %a, %scale : bf16
    linalg.yield %v : bf16
  } -> tensor<48x8x96xbf16>
  %total = linalg.generic {indexing_maps = [#m, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<8x48x96xbf16>) outs(%sums : tensor<8x48xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %wide = arith.extf %a : bf16 to f32
    %v = arith.addf %o, %wide : f32
    linalg.yield %v : f32
  } -> tensor<8x48xf32>
  return %turned, %total : tensor<48x8x96xbf16>, tensor<8x48xf32>
}

// -----

// A loop for each consumer, the exponential computed again in each, since it is cheaper than memory.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %all = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %e, %turned, %total = transform.split_handle %all
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)

    // This one for the threads,
    %turned_tile, %turned_loop = transform.structured.tile_using_forall %turned tile_sizes [1, 16, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %e_there, %turned_loop_1 = transform.structured.fuse_into_containing_op %e into %turned_loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)

    // and this one with whatever produces what it reads.
    %total_tile, %total_loops:2 = transform.structured.fuse %total tile_sizes [1, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)

    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}

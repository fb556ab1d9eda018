// producer: 9
// consumer: 14
// cause: folded-pad
// repair: yes
// Rows and columns are padded to whole vectors; the mask is applied to the padded matrix. f16.
#map = affine_map<(i, j) -> (i, j)>
func.func @masked(%raw: tensor<60x100xf16>, %mask: tensor<64x112xf16>) -> tensor<64x112xf16> {
  %zero = arith.constant 0.0 : f16
  %padded = tensor.pad %raw low[0, 0] high[4, 12] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f16
  } : tensor<60x100xf16> to tensor<64x112xf16>
  %room = tensor.empty() : tensor<64x112xf16>
  %masked = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%padded, %mask : tensor<64x112xf16>, tensor<64x112xf16>) outs(%room : tensor<64x112xf16>) {
  ^bb0(%a: f16, %m: f16, %out: f16):
    %p = arith.mulf %a, %m : f16
    linalg.yield %p : f16
  } -> tensor<64x112xf16>
  return %masked : tensor<64x112xf16>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence private @clean(%func: !transform.any_op {transform.readonly}) {
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_tensor_empty
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    transform.yield
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %mask = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
    %pad = transform.structured.match ops{["tensor.pad"]} in %func : (!transform.any_op) -> !transform.any_op
    %packed = transform.structured.pack %mask packed_sizes = [8, 16]
      : (!transform.any_op) -> !transform.op<"linalg.generic">
    %pack = transform.get_producer_of_operand %packed[0] : (!transform.op<"linalg.generic">) -> !transform.any_op
    transform.include @clean failures(propagate) (%func) : (!transform.any_op) -> ()
    %tile, %forall = transform.structured.tile_using_forall %packed tile_sizes [2, 1]
      : (!transform.op<"linalg.generic">) -> (!transform.any_op, !transform.any_op)
    %pack_tile, %l0 = transform.structured.fuse_into_containing_op %pack into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %pad_tile, %l1 = transform.structured.fuse_into_containing_op %pad into %l0
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// producer: 9
// consumer: 18
// cause: indivisible-sizes
// repair: yes
// The codes are unpacked in a line and then seen as an image.
func.func @image(%codes: tensor<6144xi16>, %table: tensor<64x96xi16>) -> tensor<64x96xi16> {
  %line = tensor.empty() : tensor<6144xi16>
  %shift = arith.constant 3 : i16
  %plain = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%codes : tensor<6144xi16>) outs(%line : tensor<6144xi16>) {
  ^bb0(%c: i16, %out: i16):
    %high = arith.shrui %c, %shift : i16
    %both = arith.xori %c, %high : i16
    linalg.yield %both : i16
  } -> tensor<6144xi16>
  %image = tensor.expand_shape %plain [[0, 1]] output_shape [64, 96] : tensor<6144xi16> into tensor<64x96xi16>
  %room = tensor.empty() : tensor<64x96xi16>
  %sum = linalg.add ins(%image, %table : tensor<64x96xi16>, tensor<64x96xi16>) outs(%room : tensor<64x96xi16>) -> tensor<64x96xi16>
  return %sum : tensor<64x96xi16>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.structured.match ops{["linalg.add"]} in %func : (!transform.any_op) -> !transform.any_op
    %plain = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %forall = transform.structured.tile_using_forall %sum tile_sizes [8, 48]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %func {
      transform.apply_patterns.tensor.bubble_up_extract_slice
    } : !transform.any_op
    %plain_tile, %both = transform.structured.fuse_into_containing_op %plain into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

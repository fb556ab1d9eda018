// producer: 11
// consumer: 13
// cause: wrong-order
// repair: yes
// Attention scores of 12 heads, half precision: queries times keys, scaled, plus a mask.
func.func @scores(%q: tensor<12x128x64xf16>, %kt: tensor<12x64x128xf16>, %scale: tensor<12x128x128xf16>,
                  %mask: tensor<128x128xf16>) -> tensor<12x128x128xf16> {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<12x128x128xf16>
  %init = linalg.fill ins(%zero : f16) outs(%empty : tensor<12x128x128xf16>) -> tensor<12x128x128xf16>
  %qk = linalg.batch_matmul ins(%q, %kt : tensor<12x128x64xf16>, tensor<12x64x128xf16>)
                            outs(%init : tensor<12x128x128xf16>) -> tensor<12x128x128xf16>
  %scaled = linalg.mul ins(%qk, %scale : tensor<12x128x128xf16>, tensor<12x128x128xf16>)
                       outs(%empty : tensor<12x128x128xf16>) -> tensor<12x128x128xf16>
  %masked = linalg.generic {
      indexing_maps = [affine_map<(h, i, j) -> (h, i, j)>, affine_map<(h, i, j) -> (i, j)>, affine_map<(h, i, j) -> (h, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%scaled, %mask : tensor<12x128x128xf16>, tensor<128x128xf16>) outs(%empty : tensor<12x128x128xf16>) {
  ^bb0(%s: f16, %m: f16, %o: f16):
    %v = arith.addf %s, %m : f16
    linalg.yield %v : f16
  } -> tensor<12x128x128xf16>
  return %masked : tensor<12x128x128xf16>
}

// -----

// One iteration per head and block of rows; everything that feeds the mask goes inside, in program order.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %qk = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %scaled = transform.structured.match ops{["linalg.mul"]} in %root : (!transform.any_op) -> !transform.any_op
    %masked = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op

    %tile, %loop = transform.structured.tile_using_forall %masked tile_sizes [1, 32, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %qk_in, %loop_1 = transform.structured.fuse_into_containing_op %qk into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %scaled_in, %loop_2 = transform.structured.fuse_into_containing_op %scaled into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

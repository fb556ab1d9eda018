// producer: 18
// consumer: 20
// cause: folded-transpose
// repair: yes
// Keys of attention heads, turned for the product and packed into tiles of 16x2 for bf16 dot products.
module {
  func.func @values(%v: tensor<12x384x64xbf16>) -> tensor<12x64x384xbf16> {
    %e = tensor.empty() : tensor<12x64x384xbf16>
    %t = linalg.transpose ins(%v : tensor<12x384x64xbf16>) outs(%e : tensor<12x64x384xbf16>) permutation = [0, 2, 1]
    return %t : tensor<12x64x384xbf16>
  }
  func.func @keys(%k: tensor<12x384x64xbf16>, %scale: bf16) -> tensor<12x24x32x16x2xbf16> {
    %e0 = tensor.empty() : tensor<12x384x64xbf16>
    %scales = linalg.fill ins(%scale : bf16) outs(%e0 : tensor<12x384x64xbf16>) -> tensor<12x384x64xbf16>
    %scaled = linalg.mul ins(%k, %scales : tensor<12x384x64xbf16>, tensor<12x384x64xbf16>)
        outs(%e0 : tensor<12x384x64xbf16>) -> tensor<12x384x64xbf16>
    %e1 = tensor.empty() : tensor<12x64x384xbf16>
    %turned = linalg.transpose ins(%scaled : tensor<12x384x64xbf16>) outs(%e1 : tensor<12x64x384xbf16>) permutation = [0, 2, 1]
    %e2 = tensor.empty() : tensor<12x24x32x16x2xbf16>
    %packed = linalg.pack %turned outer_dims_perm = [0, 2, 1] inner_dims_pos = [2, 1] inner_tiles = [16, 2] into %e2
        : tensor<12x64x384xbf16> -> tensor<12x24x32x16x2xbf16>
    return %packed : tensor<12x24x32x16x2xbf16>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %func = transform.structured.match ops{["func.func"]} attributes{sym_name = "keys"} in %root : (!transform.any_op) -> !transform.any_op
    // Tidy up first.
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    // A head and 32 of its rows at a time: scale, turn, pack.
    %pack = transform.structured.match ops{["linalg.pack"]} in %func : (!transform.any_op) -> !transform.any_op
    %turn = transform.structured.match ops{["linalg.transpose"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %pack tile_sizes [1, 2]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %turn_tile, %loop_1 = transform.structured.fuse_into_containing_op %turn into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

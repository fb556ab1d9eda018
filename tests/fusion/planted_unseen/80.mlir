// producer: 11
// consumer: 20
// cause: side-effects
// repair: no
// The library rounds the activations to its own format, in place, between the two ops.
func.func private @lib_round(memref<128x64xbf16>)

func.func @rounded(%x: tensor<128x64xbf16>, %w: tensor<64x32xbf16>, %acc: tensor<128x32xf32>) -> tensor<128x32xf32> {
  %low = arith.constant 0.0 : bf16
  %room = tensor.empty() : tensor<128x64xbf16>
  %relu = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x64xbf16>) outs(%room : tensor<128x64xbf16>) {
  ^bb0(%v: bf16, %out: bf16):
    %m = arith.maximumf %v, %low : bf16
    linalg.yield %m : bf16
  } -> tensor<128x64xbf16>
  %buffer = bufferization.to_buffer %relu : tensor<128x64xbf16> to memref<128x64xbf16>
  func.call @lib_round(%buffer) : (memref<128x64xbf16>) -> ()
  %rounded = bufferization.to_tensor %buffer restrict writable : memref<128x64xbf16> to tensor<128x64xbf16>
  %product = linalg.matmul ins(%rounded, %w : tensor<128x64xbf16>, tensor<64x32xbf16>) outs(%acc : tensor<128x32xf32>) -> tensor<128x32xf32>
  return %product : tensor<128x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %matmul tile_sizes [16, 32, 0] {apply_cleanup}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// producer: 11
// consumer: 23
// cause: map
// repair: no
// Upsampling by a transposed convolution with stride 2 (it scatters: out[2 i + k] += x[i] w[k]), then a leaky ReLU.
func.func @upsample(%x: tensor<4x32x24xf32>, %w: tensor<3x24x40xf32>) -> tensor<4x65x40xf32> {
  %zero = arith.constant 0.0 : f32
  %slope = arith.constant 0.01 : f32
  %up_empty = tensor.empty() : tensor<4x65x40xf32>
  %up_init = linalg.fill ins(%zero : f32) outs(%up_empty : tensor<4x65x40xf32>) -> tensor<4x65x40xf32>
  %up = linalg.generic {
      indexing_maps = [affine_map<(b, i, k, c, f) -> (b, i, f)>,
                       affine_map<(b, i, k, c, f) -> (k, f, c)>,
                       affine_map<(b, i, k, c, f) -> (b, 2 * i + k, c)>],
      iterator_types = ["parallel", "reduction", "reduction", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x32x24xf32>, tensor<3x24x40xf32>) outs(%up_init : tensor<4x65x40xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x65x40xf32>
  %out_empty = tensor.empty() : tensor<4x65x40xf32>
  %out = linalg.map ins(%up : tensor<4x65x40xf32>) outs(%out_empty : tensor<4x65x40xf32>)
    (%v: f32, %o: f32) {
      %low = arith.mulf %v, %slope : f32
      %leaky = arith.maximumf %v, %low : f32
      linalg.yield %leaky : f32
    }
  return %out : tensor<4x65x40xf32>
}

// -----

// A batch entry and 13 positions at a time: the activation, and the convolution that feeds it.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %out = transform.structured.match ops{["linalg.map"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %out tile_sizes [1, 13, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// A power computed by repeated multiplication; the running value is a tensor without dimensions, as frontends leave it.
#scalar = affine_map<() -> ()>
func.func @detensorize(%base: tensor<f32>, %times: index) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %first = arith.constant 0 : index
  %next = arith.constant 1 : index
  %empty = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%one : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %power = scf.for %i = %first to %times step %next iter_args(%sofar = %start) -> (tensor<f32>) {
    %e = tensor.empty() : tensor<f32>
    %product = linalg.generic {indexing_maps = [#scalar, #scalar, #scalar], iterator_types = []}
        ins(%sofar, %base : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %value = arith.mulf %x, %y : f32
      linalg.yield %value : f32
    } -> tensor<f32>
    scf.yield %product : tensor<f32>
  }
  return %power : tensor<f32>
}

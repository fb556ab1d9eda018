// A sum over columns whose reduction is the outermost loop.
func.func @interchange(%source: tensor<8x6xf32>) -> tensor<6xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6xf32>) -> tensor<6xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]}
      ins(%source : tensor<8x6xf32>) outs(%init : tensor<6xf32>) {
  ^bb0(%x: f32, %sofar: f32):
    %value = arith.addf %x, %sofar : f32
    linalg.yield %value : f32
  } -> tensor<6xf32>
  return %sum : tensor<6xf32>
}

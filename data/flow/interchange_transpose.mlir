// A transposed sum: the loops follow the result, and the input is read down its columns.
func.func @interchange_transpose(%source: tensor<8x6xf32>) -> tensor<6x8xf32> {
  %empty = tensor.empty() : tensor<6x8xf32>
  %twice = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%source : tensor<8x6xf32>) outs(%empty : tensor<6x8xf32>) {
  ^bb0(%x: f32, %out: f32):
    %value = arith.addf %x, %x : f32
    linalg.yield %value : f32
  } -> tensor<6x8xf32>
  return %twice : tensor<6x8xf32>
}

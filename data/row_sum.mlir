// The sum of each row.
func.func @row_sum(%source: tensor<1024x1024xf32>) -> tensor<1024xf32> {
  %zero = arith.constant 0.0 : f32
  %sums_init_empty = tensor.empty() : tensor<1024xf32>
  %sums_init = linalg.fill ins(%zero : f32) outs(%sums_init_empty : tensor<1024xf32>) -> tensor<1024xf32>
  %sums = linalg.reduce { arith.addf } ins(%source : tensor<1024x1024xf32>) outs(%sums_init : tensor<1024xf32>) dimensions = [1]
  return %sums : tensor<1024xf32>
}

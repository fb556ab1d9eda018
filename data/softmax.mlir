// By rows.
func.func @softmax(%source: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %minus_infinity = arith.constant 0xFF800000 : f32
  %nothing = arith.constant 0.0 : f32
  %highest_init_empty = tensor.empty() : tensor<512xf32>
  %highest_init = linalg.fill ins(%minus_infinity : f32) outs(%highest_init_empty : tensor<512xf32>) -> tensor<512xf32>
  %highest = linalg.reduce { arith.maximumf } ins(%source : tensor<512x512xf32>) outs(%highest_init : tensor<512xf32>) dimensions = [1]
  %highests_empty = tensor.empty() : tensor<512x512xf32>
  %highests = linalg.broadcast ins(%highest : tensor<512xf32>) outs(%highests_empty : tensor<512x512xf32>) dimensions = [1]
  %shifted_empty = tensor.empty() : tensor<512x512xf32>
  %shifted = linalg.sub ins(%source, %highests : tensor<512x512xf32>, tensor<512x512xf32>) outs(%shifted_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %powers_empty = tensor.empty() : tensor<512x512xf32>
  %powers = linalg.exp ins(%shifted : tensor<512x512xf32>) outs(%powers_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %power_sum_init_empty = tensor.empty() : tensor<512xf32>
  %power_sum_init = linalg.fill ins(%nothing : f32) outs(%power_sum_init_empty : tensor<512xf32>) -> tensor<512xf32>
  %power_sum = linalg.reduce { arith.addf } ins(%powers : tensor<512x512xf32>) outs(%power_sum_init : tensor<512xf32>) dimensions = [1]
  %power_sums_empty = tensor.empty() : tensor<512x512xf32>
  %power_sums = linalg.broadcast ins(%power_sum : tensor<512xf32>) outs(%power_sums_empty : tensor<512x512xf32>) dimensions = [1]
  %softmax_empty = tensor.empty() : tensor<512x512xf32>
  %softmax = linalg.div ins(%powers, %power_sums : tensor<512x512xf32>, tensor<512x512xf32>) outs(%softmax_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %softmax : tensor<512x512xf32>
}

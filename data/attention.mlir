// One head of attention: softmax(q * transposed k / sqrt(d)) * v.
func.func @attention(%q: tensor<128x64xf32>, %k: tensor<128x64xf32>, %v: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %turned_empty = tensor.empty() : tensor<64x128xf32>
  %turned = linalg.transpose ins(%k : tensor<128x64xf32>) outs(%turned_empty : tensor<64x128xf32>) permutation = [1, 0]
  %raw_init_empty = tensor.empty() : tensor<128x128xf32>
  %raw_init = linalg.fill ins(%zero : f32) outs(%raw_init_empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %raw = linalg.matmul ins(%q, %turned : tensor<128x64xf32>, tensor<64x128xf32>) outs(%raw_init : tensor<128x128xf32>) -> tensor<128x128xf32>
  %scales_empty = tensor.empty() : tensor<128x128xf32>
  %scales = linalg.fill ins(%scale : f32) outs(%scales_empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %scores_empty = tensor.empty() : tensor<128x128xf32>
  %scores = linalg.mul ins(%raw, %scales : tensor<128x128xf32>, tensor<128x128xf32>) outs(%scores_empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %minus_infinity = arith.constant 0xFF800000 : f32
  %nothing = arith.constant 0.0 : f32
  %highest_init_empty = tensor.empty() : tensor<128xf32>
  %highest_init = linalg.fill ins(%minus_infinity : f32) outs(%highest_init_empty : tensor<128xf32>) -> tensor<128xf32>
  %highest = linalg.reduce { arith.maximumf } ins(%scores : tensor<128x128xf32>) outs(%highest_init : tensor<128xf32>) dimensions = [1]
  %highests_empty = tensor.empty() : tensor<128x128xf32>
  %highests = linalg.broadcast ins(%highest : tensor<128xf32>) outs(%highests_empty : tensor<128x128xf32>) dimensions = [1]
  %shifted_empty = tensor.empty() : tensor<128x128xf32>
  %shifted = linalg.sub ins(%scores, %highests : tensor<128x128xf32>, tensor<128x128xf32>) outs(%shifted_empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %powers_empty = tensor.empty() : tensor<128x128xf32>
  %powers = linalg.exp ins(%shifted : tensor<128x128xf32>) outs(%powers_empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %power_sum_init_empty = tensor.empty() : tensor<128xf32>
  %power_sum_init = linalg.fill ins(%nothing : f32) outs(%power_sum_init_empty : tensor<128xf32>) -> tensor<128xf32>
  %power_sum = linalg.reduce { arith.addf } ins(%powers : tensor<128x128xf32>) outs(%power_sum_init : tensor<128xf32>) dimensions = [1]
  %power_sums_empty = tensor.empty() : tensor<128x128xf32>
  %power_sums = linalg.broadcast ins(%power_sum : tensor<128xf32>) outs(%power_sums_empty : tensor<128x128xf32>) dimensions = [1]
  %softmax_empty = tensor.empty() : tensor<128x128xf32>
  %softmax = linalg.div ins(%powers, %power_sums : tensor<128x128xf32>, tensor<128x128xf32>) outs(%softmax_empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %result_init_empty = tensor.empty() : tensor<128x64xf32>
  %result_init = linalg.fill ins(%zero : f32) outs(%result_init_empty : tensor<128x64xf32>) -> tensor<128x64xf32>
  %result = linalg.matmul ins(%softmax, %v : tensor<128x128xf32>, tensor<128x64xf32>) outs(%result_init : tensor<128x64xf32>) -> tensor<128x64xf32>
  return %result : tensor<128x64xf32>
}

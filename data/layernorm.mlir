// Rows with mean 0 and variance 1, scaled and shifted.
func.func @layernorm(%source: tensor<512x512xf32>, %scale: tensor<512xf32>, %shift: tensor<512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 512.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %sums_init_empty = tensor.empty() : tensor<512xf32>
  %sums_init = linalg.fill ins(%zero : f32) outs(%sums_init_empty : tensor<512xf32>) -> tensor<512xf32>
  %sums = linalg.reduce { arith.addf } ins(%source : tensor<512x512xf32>) outs(%sums_init : tensor<512xf32>) dimensions = [1]
  %counts_empty = tensor.empty() : tensor<512xf32>
  %counts = linalg.fill ins(%count : f32) outs(%counts_empty : tensor<512xf32>) -> tensor<512xf32>
  %means_empty = tensor.empty() : tensor<512xf32>
  %means = linalg.div ins(%sums, %counts : tensor<512xf32>, tensor<512xf32>) outs(%means_empty : tensor<512xf32>) -> tensor<512xf32>
  %mean_empty = tensor.empty() : tensor<512x512xf32>
  %mean = linalg.broadcast ins(%means : tensor<512xf32>) outs(%mean_empty : tensor<512x512xf32>) dimensions = [1]
  %centered_empty = tensor.empty() : tensor<512x512xf32>
  %centered = linalg.sub ins(%source, %mean : tensor<512x512xf32>, tensor<512x512xf32>) outs(%centered_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %squares_empty = tensor.empty() : tensor<512x512xf32>
  %squares = linalg.mul ins(%centered, %centered : tensor<512x512xf32>, tensor<512x512xf32>) outs(%squares_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %square_sums_init_empty = tensor.empty() : tensor<512xf32>
  %square_sums_init = linalg.fill ins(%zero : f32) outs(%square_sums_init_empty : tensor<512xf32>) -> tensor<512xf32>
  %square_sums = linalg.reduce { arith.addf } ins(%squares : tensor<512x512xf32>) outs(%square_sums_init : tensor<512xf32>) dimensions = [1]
  %variances_empty = tensor.empty() : tensor<512xf32>
  %variances = linalg.div ins(%square_sums, %counts : tensor<512xf32>, tensor<512xf32>) outs(%variances_empty : tensor<512xf32>) -> tensor<512xf32>
  %epsilons_empty = tensor.empty() : tensor<512xf32>
  %epsilons = linalg.fill ins(%epsilon : f32) outs(%epsilons_empty : tensor<512xf32>) -> tensor<512xf32>
  %guarded_empty = tensor.empty() : tensor<512xf32>
  %guarded = linalg.add ins(%variances, %epsilons : tensor<512xf32>, tensor<512xf32>) outs(%guarded_empty : tensor<512xf32>) -> tensor<512xf32>
  %factors_empty = tensor.empty() : tensor<512xf32>
  %factors = linalg.rsqrt ins(%guarded : tensor<512xf32>) outs(%factors_empty : tensor<512xf32>) -> tensor<512xf32>
  %factor_empty = tensor.empty() : tensor<512x512xf32>
  %factor = linalg.broadcast ins(%factors : tensor<512xf32>) outs(%factor_empty : tensor<512x512xf32>) dimensions = [1]
  %normal_empty = tensor.empty() : tensor<512x512xf32>
  %normal = linalg.mul ins(%centered, %factor : tensor<512x512xf32>, tensor<512x512xf32>) outs(%normal_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %scales_empty = tensor.empty() : tensor<512x512xf32>
  %scales = linalg.broadcast ins(%scale : tensor<512xf32>) outs(%scales_empty : tensor<512x512xf32>) dimensions = [0]
  %scaled_empty = tensor.empty() : tensor<512x512xf32>
  %scaled = linalg.mul ins(%normal, %scales : tensor<512x512xf32>, tensor<512x512xf32>) outs(%scaled_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %shifts_empty = tensor.empty() : tensor<512x512xf32>
  %shifts = linalg.broadcast ins(%shift : tensor<512xf32>) outs(%shifts_empty : tensor<512x512xf32>) dimensions = [0]
  %shifted_empty = tensor.empty() : tensor<512x512xf32>
  %shifted = linalg.add ins(%scaled, %shifts : tensor<512x512xf32>, tensor<512x512xf32>) outs(%shifted_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %shifted : tensor<512x512xf32>
}

// A weighted sum of f32 that is computed in f64, the type of Python's numbers: weights, a factor and a function.
ml_program.global private @weights(dense<[0.5, 0.25, 0.125, 0.0625]> : tensor<4xf64>) : tensor<4xf64>

func.func @demote_f64(%values: tensor<6x4xf32>) -> tensor<6xf32> {
  %zero = arith.constant 0.0 : f64
  %factor = arith.constant 0.1 : f64
  %wide = arith.extf %values : tensor<6x4xf32> to tensor<6x4xf64>
  %weights = ml_program.global_load @weights : tensor<4xf64>
  %empty = tensor.empty() : tensor<6xf64>
  %init = linalg.fill ins(%zero : f64) outs(%empty : tensor<6xf64>) -> tensor<6xf64>
  %sum = linalg.matvec ins(%wide, %weights : tensor<6x4xf64>, tensor<4xf64>) outs(%init : tensor<6xf64>) -> tensor<6xf64>
  %scaled = call @scaled(%sum, %factor) : (tensor<6xf64>, f64) -> tensor<6xf64>
  %result = arith.truncf %scaled : tensor<6xf64> to tensor<6xf32>
  return %result : tensor<6xf32>
}

func.func private @scaled(%x: tensor<6xf64>, %by: f64) -> tensor<6xf64> {
  %factors = tensor.splat %by : tensor<6xf64>
  %y = arith.mulf %x, %factors : tensor<6xf64>
  return %y : tensor<6xf64>
}

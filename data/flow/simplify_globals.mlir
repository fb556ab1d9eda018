// A global that is written, read back at once, and written again: only the last value leaves the function.
ml_program.global private mutable @state(dense<0.0> : tensor<6xf32>) : tensor<6xf32>

func.func @simplify_globals(%a: tensor<6xf32>, %b: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %sum = arith.addf %a, %b : tensor<6xf32>
  ml_program.global_store @state = %sum : tensor<6xf32>
  %read = ml_program.global_load @state : tensor<6xf32>
  %product = arith.mulf %read, %b : tensor<6xf32>
  ml_program.global_store @state = %product : tensor<6xf32>
  %first = ml_program.global_load @state : tensor<6xf32>
  %second = ml_program.global_load @state : tensor<6xf32>
  %twice = arith.addf %first, %second : tensor<6xf32>
  return %product, %twice : tensor<6xf32>, tensor<6xf32>
}

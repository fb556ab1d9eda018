// Arithmetic on whole tensors, as frontends write it: no loop to be scheduled is in sight.
func.func @elementwise_to_linalg(%a: tensor<6x7xf32>, %b: tensor<6x7xf32>) -> tensor<6x7xf32> {
  %sum = arith.addf %a, %b : tensor<6x7xf32>
  %larger = arith.cmpf ogt, %sum, %b : tensor<6x7xf32>
  %result = arith.select %larger, %sum, %a : tensor<6x7xi1>, tensor<6x7xf32>
  return %result : tensor<6x7xf32>
}

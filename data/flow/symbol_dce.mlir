// A function that nothing calls, one that only it calls, and data that nothing reads.
memref.global "private" constant @unused_weights : memref<64xf32> = dense<1.0>

func.func @symbol_dce(%a: tensor<6xf32>) -> tensor<6xf32> {
  %0 = call @used(%a) : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

func.func private @used(%x: tensor<6xf32>) -> tensor<6xf32> {
  %y = arith.addf %x, %x : tensor<6xf32>
  return %y : tensor<6xf32>
}

func.func private @unused(%x: tensor<6xf32>) -> tensor<6xf32> {
  %y = call @used_by_unused(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

func.func private @used_by_unused(%x: tensor<6xf32>) -> tensor<6xf32> {
  %y = arith.mulf %x, %x : tensor<6xf32>
  return %y : tensor<6xf32>
}

// Two calls of one piece of work: which of them gives a wrong number?
func.func @trace_dispatches(%x: tensor<2x3xf32>, %scale: f32) -> tensor<2x3xf32> {
  %0 = call @layer(%x, %scale) : (tensor<2x3xf32>, f32) -> tensor<2x3xf32>
  %1 = call @layer(%0, %scale) : (tensor<2x3xf32>, f32) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

func.func private @layer(%x: tensor<2x3xf32>, %scale: f32) -> tensor<2x3xf32> {
  %factors = tensor.splat %scale : tensor<2x3xf32>
  %y = arith.mulf %x, %factors : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

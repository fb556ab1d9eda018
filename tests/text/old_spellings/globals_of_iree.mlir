// Weights as IREE keeps them.
util.global private @weights = dense<1.0> : tensor<4x4xf32>
util.global private @bias : tensor<4x4xf32> = dense<0.5>
util.global private mutable @state = dense<0.0> : tensor<4x4xf32>
util.global private @given {inlining_policy = #util.inline.never} : tensor<4x4xf32>
util.func public @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %w = util.global.load immutable @weights : tensor<4x4xf32>
  %b = util.global.load @bias : tensor<4x4xf32>
  util.global.store %a, @state : tensor<4x4xf32>
  %m = linalg.matmul ins(%a, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%b : tensor<4x4xf32>) -> tensor<4x4xf32>
  util.return %m : tensor<4x4xf32>
}

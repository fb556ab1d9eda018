// A branch that passes the same value twice, and a block that is entered from one place only.
func.func @apply_patterns(%a: tensor<6xf32>, %scale: f32) -> tensor<6xf32> {
  %factors = tensor.splat %scale : tensor<6xf32>
  cf.br ^scaled(%factors, %factors : tensor<6xf32>, tensor<6xf32>)
^scaled(%first: tensor<6xf32>, %second: tensor<6xf32>):
  %once = arith.mulf %a, %first : tensor<6xf32>
  %twice = arith.mulf %once, %second : tensor<6xf32>
  cf.br ^end(%twice : tensor<6xf32>)
^end(%result: tensor<6xf32>):
  return %result : tensor<6xf32>
}

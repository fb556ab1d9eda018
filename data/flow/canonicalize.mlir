// What rewrites leave behind: a size that is known and asked for, casts, a slice of everything, a dead op.
func.func @canonicalize(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %a, %c0 : tensor<4x6xf32>
  %dynamic = tensor.cast %a : tensor<4x6xf32> to tensor<?x6xf32>
  %whole = tensor.extract_slice %dynamic[0, 0] [%rows, 6] [1, 1] : tensor<?x6xf32> to tensor<?x6xf32>
  %e = tensor.empty(%rows) : tensor<?x6xf32>
  %abs = linalg.abs ins(%whole : tensor<?x6xf32>) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
  %dead = linalg.exp ins(%abs : tensor<?x6xf32>) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
  %static = tensor.cast %abs : tensor<?x6xf32> to tensor<4x6xf32>
  return %static : tensor<4x6xf32>
}

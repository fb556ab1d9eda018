// max(x, 0), whatever the size.
func.func @relu_dynamic(%source: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %source, %c0 : tensor<?x?xf32>
  %n = tensor.dim %source, %c1 : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %zeros_empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%zeros_empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %relu_empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %relu = linalg.max ins(%source, %zeros : tensor<?x?xf32>, tensor<?x?xf32>) outs(%relu_empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %relu : tensor<?x?xf32>
}

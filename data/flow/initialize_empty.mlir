// The halves of a matrix, swapped: they are written into a tensor of which only the shape is known.
func.func @initialize_empty(%a: tensor<6x7xf32>) -> tensor<6x7xf32> {
  %empty = tensor.empty() : tensor<6x7xf32>
  %upper = tensor.extract_slice %a[0, 0] [3, 7] [1, 1] : tensor<6x7xf32> to tensor<3x7xf32>
  %lower = tensor.extract_slice %a[3, 0] [3, 7] [1, 1] : tensor<6x7xf32> to tensor<3x7xf32>
  %half = tensor.insert_slice %lower into %empty[0, 0] [3, 7] [1, 1] : tensor<3x7xf32> into tensor<6x7xf32>
  %swapped = tensor.insert_slice %upper into %half[3, 0] [3, 7] [1, 1] : tensor<3x7xf32> into tensor<6x7xf32>
  return %swapped : tensor<6x7xf32>
}

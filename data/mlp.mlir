// Three fully connected layers, ReLU between them.
func.func @mlp(%x: tensor<128x128xf32>, %w0: tensor<128x256xf32>, %b0: tensor<256xf32>, %w1: tensor<256x256xf32>, %b1: tensor<256xf32>, %w2: tensor<256x64xf32>, %b2: tensor<64xf32>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %product0_init_empty = tensor.empty() : tensor<128x256xf32>
  %product0_init = linalg.fill ins(%zero : f32) outs(%product0_init_empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  %product0 = linalg.matmul ins(%x, %w0 : tensor<128x128xf32>, tensor<128x256xf32>) outs(%product0_init : tensor<128x256xf32>) -> tensor<128x256xf32>
  %bias0_empty = tensor.empty() : tensor<128x256xf32>
  %bias0 = linalg.broadcast ins(%b0 : tensor<256xf32>) outs(%bias0_empty : tensor<128x256xf32>) dimensions = [0]
  %sum0_empty = tensor.empty() : tensor<128x256xf32>
  %sum0 = linalg.add ins(%product0, %bias0 : tensor<128x256xf32>, tensor<128x256xf32>) outs(%sum0_empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  %zeros0_empty = tensor.empty() : tensor<128x256xf32>
  %zeros0 = linalg.fill ins(%zero : f32) outs(%zeros0_empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  %relu0_empty = tensor.empty() : tensor<128x256xf32>
  %relu0 = linalg.max ins(%sum0, %zeros0 : tensor<128x256xf32>, tensor<128x256xf32>) outs(%relu0_empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  %product1_init_empty = tensor.empty() : tensor<128x256xf32>
  %product1_init = linalg.fill ins(%zero : f32) outs(%product1_init_empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  %product1 = linalg.matmul ins(%relu0, %w1 : tensor<128x256xf32>, tensor<256x256xf32>) outs(%product1_init : tensor<128x256xf32>) -> tensor<128x256xf32>
  %bias1_empty = tensor.empty() : tensor<128x256xf32>
  %bias1 = linalg.broadcast ins(%b1 : tensor<256xf32>) outs(%bias1_empty : tensor<128x256xf32>) dimensions = [0]
  %sum1_empty = tensor.empty() : tensor<128x256xf32>
  %sum1 = linalg.add ins(%product1, %bias1 : tensor<128x256xf32>, tensor<128x256xf32>) outs(%sum1_empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  %zeros1_empty = tensor.empty() : tensor<128x256xf32>
  %zeros1 = linalg.fill ins(%zero : f32) outs(%zeros1_empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  %relu1_empty = tensor.empty() : tensor<128x256xf32>
  %relu1 = linalg.max ins(%sum1, %zeros1 : tensor<128x256xf32>, tensor<128x256xf32>) outs(%relu1_empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  %product2_init_empty = tensor.empty() : tensor<128x64xf32>
  %product2_init = linalg.fill ins(%zero : f32) outs(%product2_init_empty : tensor<128x64xf32>) -> tensor<128x64xf32>
  %product2 = linalg.matmul ins(%relu1, %w2 : tensor<128x256xf32>, tensor<256x64xf32>) outs(%product2_init : tensor<128x64xf32>) -> tensor<128x64xf32>
  %bias2_empty = tensor.empty() : tensor<128x64xf32>
  %bias2 = linalg.broadcast ins(%b2 : tensor<64xf32>) outs(%bias2_empty : tensor<128x64xf32>) dimensions = [0]
  %sum2_empty = tensor.empty() : tensor<128x64xf32>
  %sum2 = linalg.add ins(%product2, %bias2 : tensor<128x64xf32>, tensor<128x64xf32>) outs(%sum2_empty : tensor<128x64xf32>) -> tensor<128x64xf32>
  return %sum2 : tensor<128x64xf32>
}

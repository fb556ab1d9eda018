"""Small payloads that the schedules of the check are proven valid on."""

PAYLOADS = {
    "tensors": """
func.func @f(%a: tensor<16x32xf32>, %b: tensor<32x8xf32>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %m = linalg.matmul ins(%a, %b : tensor<16x32xf32>, tensor<32x8xf32>) outs(%i : tensor<16x8xf32>) -> tensor<16x8xf32>
  %e2 = tensor.empty() : tensor<16x8xf32>
  %s = linalg.add ins(%m, %c : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e2 : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %s : tensor<16x8xf32>
}
func.func @g(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %s = linalg.add ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = linalg.mul ins(%s, %s : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %t : tensor<8x8xf32>
}""",
    "loops": """
func.func @f(%a: memref<16x16xf32>, %b: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      %x = memref.load %a[%i, %j] : memref<16x16xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %b[%i, %j] : memref<16x16xf32>
    }
  }
  scf.for %i = %c0 to %c16 step %c1 {
    %x = memref.load %b[%i, %c0] : memref<16x16xf32>
    %y = arith.mulf %x, %x : f32
    memref.store %y, %b[%i, %c0] : memref<16x16xf32>
  }
  linalg.matmul ins(%a, %a : memref<16x16xf32>, memref<16x16xf32>) outs(%b : memref<16x16xf32>)
  return
}""",
    "rows": """
func.func @f(%a: tensor<8x16xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<8x16xf32>) outs(%i : tensor<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %x, %acc : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %p = tensor.pad %r low[0] high[8] {
  ^bb0(%k: index):
    tensor.yield %z : f32
  } : tensor<8xf32> to tensor<16xf32>
  %q = tensor.extract_slice %p[4] [8] [1] : tensor<16xf32> to tensor<8xf32>
  return %q : tensor<8xf32>
}""",
}

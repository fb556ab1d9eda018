// producer: 15
// consumer: 23
// cause: side-effects
// repair: yes
// A fixed-point gain and offset on a buffer in between; the probe between them is compiled out, its call is not.
module {
  func.func private @probe(%buffer: memref<16x32x8xi32>, %stage: i32) {
    return
  }
  func.func @gain_offset(%a: memref<16x32x8xi16>, %gain: memref<8xi32>) -> memref<16x32x8xi32> {
    %one = arith.constant 1 : i32
    %seven = arith.constant 7 : i32
    %c = memref.alloc() : memref<16x32x8xi32>
    %b = memref.alloc() : memref<16x32x8xi32>
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a, %gain : memref<16x32x8xi16>, memref<8xi32>) outs(%b : memref<16x32x8xi32>) attrs = {tag = "gain"} {
    ^bb0(%x: i16, %g: i32, %o: i32):
      %w = arith.extsi %x : i16 to i32
      %v = arith.muli %w, %g : i32
      linalg.yield %v : i32
    }
    call @probe(%b, %one) : (memref<16x32x8xi32>, i32) -> ()
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%b : memref<16x32x8xi32>) outs(%c : memref<16x32x8xi32>) attrs = {tag = "offset"} {
    ^bb0(%x: i32, %o: i32):
      %v = arith.addi %x, %seven : i32
      linalg.yield %v : i32
    }
    memref.dealloc %b : memref<16x32x8xi32>
    return %c : memref<16x32x8xi32>
  }
}

// -----

// Parallel loops, and one for both.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} attributes {sym_name = "gain_offset"} in %root : (!transform.any_op) -> !transform.any_op
    %loops = transform.apply_registered_pass "convert-linalg-to-parallel-loops" to %func : (!transform.any_op) -> !transform.any_op
    %one = transform.apply_registered_pass "scf-parallel-loop-fusion" to %loops : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

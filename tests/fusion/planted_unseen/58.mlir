// producer: 14
// consumer: 22
// cause: map
// repair: yes
// RMS normalization as a model importer writes it: the factor of a row keeps a dimension of 1.
#row = affine_map<(r) -> (r)>
#keep = affine_map<(r) -> (r, 0)>
#id = affine_map<(r, c) -> (r, c)>
#bc = affine_map<(r, c) -> (r, 0)>
#col = affine_map<(r, c) -> (c)>
func.func @rms_scale(%x: tensor<?x512xbf16>, %ms: tensor<?xf32>, %gain: tensor<512xf32>, %rows: index) -> tensor<?x512xbf16> {
  %eps = arith.constant 1.0e-5 : f32
  %ef = tensor.empty(%rows) : tensor<?x1xf32>
  %factor = linalg.generic {indexing_maps = [#row, #keep], iterator_types = ["parallel"]}
      ins(%ms : tensor<?xf32>) outs(%ef : tensor<?x1xf32>) attrs = {tag = "factor"} {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %a, %eps : f32
    %v = math.rsqrt %s : f32
    linalg.yield %v : f32
  } -> tensor<?x1xf32>
  %ey = tensor.empty(%rows) : tensor<?x512xbf16>
  %y = linalg.generic {indexing_maps = [#id, #bc, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %factor, %gain : tensor<?x512xbf16>, tensor<?x1xf32>, tensor<512xf32>) outs(%ey : tensor<?x512xbf16>) attrs = {tag = "apply"} {
  ^bb0(%a: bf16, %f: f32, %g: f32, %out: bf16):
    %w = arith.extf %a : bf16 to f32
    %p = arith.mulf %w, %f : f32
    %q = arith.mulf %p, %g : f32
    %v = arith.truncf %q : f32 to bf16
    linalg.yield %v : bf16
  } -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// -----

// One op out of the two; lowering comes later.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %root : (!transform.any_op) -> !transform.any_op
    %func = transform.structured.match ops{["func.func"]} in %fused : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } {apply_cse} : !transform.any_op
    transform.yield
  }
}

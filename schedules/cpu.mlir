// Payload: data/matmul.mlir, or any other. Whatever linalg has in it on tensors, or on memrefs that nothing else uses,
//          is matched by structure (which loops are parallel, how operands are read, what the body computes), never by
//          name: products in any order of dimensions, convolutions and poolings in any layout, reductions, what works
//          by elements. What is not known is left as it is, and is correct.
// Idea:    one first draft for every payload. Ops that work by elements are merged with their readers; contractions
//          become products of matrices, which are cut into tiles that stay in registers, over packed panels, as in
//          fc_relu.mlir, and end with what follows them by elements; convolutions of images go by the steps of
//          conv2d.mlir, others become contractions of copied windows; all other ops become vectors along the dimension
//          in which memory is contiguous.
// Knobs:   tile_m, tile_n: rows and columns of a product's tile; lanes: elements of 32 bits in a vector;
//          narrow_tile_m: rows of a tile one vector wide. As in fc_relu.mlir. tile_w, tile_f: places and filters of
//          a convolution's tile, winograd: whether maps that are large take that way, as in conv2d.mlir.
//          window_elements: elements in the windows of another convolution that are copied at once, so that they stay
//          in half of a core's L2. rows: rows of queries of an attention that go at a time. tile_n_64, lanes_64: tile_n
//          and lanes of products of 64-bit numbers. bf16_dots, i8_dots: how the CPU adds up products of pairs of bf16 and of fours of i8 in one
//          instruction: 1 in vectors (AVX512-BF16; AVX512-VNNI, AVX-VNNI), 2 in matrix tiles (AMX), 0 not at all; i8_dots
//          3: in vectors as pairs of i16 (vpmaddwd of AVX2 and AVX-512), also of unsigned operands and of i16;
//          tile_rows: rows that are multiplied so before the next columns. Without such instructions, and where
//          extents are not known, operands of fewer bits are extended as a whole first, in one pass each; bf16, f16
//          and integers of 8 bits (with up to 1024 steps) are then multiplied and added in f32.
// Result:  one core of an Intel Xeon with AVX-512 and 2 MiB of second-level cache, one thread, medians of one run on a
//          shared machine, as multiples of the faster spelling in NumPy 2 and PyTorch 2.13, and per cent of the FMA
//          peak. Products of 512x512x512: 1.15, 1.08, 90; with the right-hand side transposed 1.00, .92, 77; the left
//          .98, .95, 73; the result 1.00, 1.00, 71 (transposes are .2 of 1.9 ms). Eight of 128x128x128: 1.41, 1.15,
//          90. Attention's "bhnd,bhmd->bhnm" of 256x64: 1.26, .98. Attention of 64 columns beside PyTorch's
//          scaled_dot_product_attention, with 128, 512, 2048 rows: 1.26, 1.13, 1.03; in AVX2 code, PyTorch held to it,
//          1.13, 1.03, .95. With AMX, products of bf16 of 512, 1024 and 500x515x700 beside torch.mm: .96, .78, .6 (the
//          left-hand side is read from the second-level cache; steps that fill no tile are copied), of i8 beside
//          torch._int_mm 1.97, 1.34, 1.08, beside quantized linear with packed weights 1.08, .77, .81. i8 in vectors
//          (AVX512-VNNI): 3.5 times the speed of f32. On an AMD EPYC (Zen 3, AVX2; a busy machine, by CPU time) i8 of
//          128, 512, 1024 and 500x515x700 has 1.7, 1.8, 1.5 and 1.4 times the speed of f32 in NumPy, and beside the
//          faster engine of PyTorch's quantized linear with packed weights 2.0, .78 to .92, .73 to .80, .82 to .91; that
//          one saturates there (of random i8 by a fifth of the largest sum), with 3 instructions where exact sums take 4.
//          Against unscheduled code: an MLP with GELU 54 times, a transformer block 45, ResNet-18 at a quarter of its
//          width 15. Reductions: parts/reductions.mlir.
//          Convolutions beside PyTorch's, geometric means (least): NHWC 1.24 (.9; channels_last), NCHW 1.05 (.8);
//          depthwise NHWC 2.2 (1.4), NCHW 4.0 (2.6); grouped 1.35 (1.1), by groups of 8 channels .9.
//          In AVX2 code depthwise 2.5 and 3.5, grouped 1.65 and 1.4.
// Limits:  convolutions in NCHW of few places and many channels (14x14x256) or of three channels and a window of 7x7
//          reach .8 of PyTorch's. Without dot products those of bf16 and i8 run at the speed of f32.
// lhkit: library parts/cpu.mlir
// lhkit: library parts/convolutions.mlir
// lhkit: library parts/image_tiles.mlir
// lhkit: library parts/images.mlir
// lhkit: library parts/attention.mlir
// lhkit: library parts/dot_products.mlir
// lhkit: library parts/layers.mlir
// lhkit: library parts/packed.mlir
// lhkit: library parts/loop_order.mlir
// lhkit: library parts/partial_sums.mlir
// lhkit: library parts/vector_tiles.mlir
// lhkit: library parts/outer_loops.mlir
// lhkit: library parts/inner.mlir
// lhkit: library parts/four_rows.mlir
// lhkit: library parts/argmax.mlir
// lhkit: library parts/reductions.mlir
// lhkit: library parts/elementwise.mlir
// Exports to other programs go without these: then convolutions, and products of other orders of dimensions than a
// matmul's, stay loops.
// lhkit: optional lhkit.add_up_in_f32, lhkit.collapse_multiplier, lhkit.collapse_reduced_dims, lhkit.contraction_to_matmul, lhkit.convolution_to_contraction, lhkit.convolution_to_nhwc
// lhkit: optional lhkit.expand_math, lhkit.memrefs_to_tensors, lhkit.outline_ops, lhkit.mark_small_ops, lhkit.split_argmax, lhkit.split_zero_points
// lhkit: optional lhkit.unroll_window, lhkit.winograd_conv2d
// lhkit: require tile_n % lanes == 0
// lhkit: require tile_n_64 % lanes_64 == 0
// lhkit: require tile_f % lanes == 0
// lhkit: default lanes = vector_bits / 32
// lhkit: default tile_n = 64 if vector_bits == 512 else 24 if vector_bits == 256 else vector_bits / 16
// lhkit: default tile_m = 6 if vector_bits == 512 else 8 if vector_registers == 32 else 4
// lhkit: default lanes_64 = vector_bits / 64
// lhkit: default tile_n_64 = 32 if vector_bits == 512 else 12 if vector_bits == 256 else vector_bits / 32
// lhkit: default bf16_dots = bf16_dots
// lhkit: default i8_dots = i8_dots
// lhkit: default tile_f = vector_bits / 16
// lhkit: default tile_w = 7 if vector_bits == 512 else 6 if vector_bits == 256 else 8 if vector_registers == 32 else 4
// lhkit: default narrow_tile_m = 12 if vector_registers == 32 else 8
// A payload has little of what is looked for:
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile_m = transform.tune.knob<"tile_m"> = 6 : i64 from options = [2, 4, 6, 8, 12] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [8, 12, 16, 24, 32, 48, 64] -> !transform.param<i64>
    %narrow_tile_m = transform.tune.knob<"narrow_tile_m"> = 12 : i64 from options = [4, 6, 8, 12, 16] -> !transform.param<i64>
    %lanes = transform.tune.knob<"lanes"> = 16 : i64 from options = [4, 8, 16] -> !transform.param<i64>
    %window_elements = transform.tune.knob<"window_elements"> = 262144 : i64 from options = [32768, 65536, 131072, 262144, 524288] -> !transform.param<i64>
    %rows = transform.tune.knob<"rows"> = 96 : i64 from options = [24, 48, 96, 192] -> !transform.param<i64>
    %tile_n_64 = transform.tune.knob<"tile_n_64"> = 32 : i64 from options = [4, 8, 12, 16, 24, 32] -> !transform.param<i64>
    %lanes_64 = transform.tune.knob<"lanes_64"> = 8 : i64 from options = [2, 4, 8] -> !transform.param<i64>
    %bf16_dots = transform.tune.knob<"bf16_dots"> = 0 : i64 from options = [0, 1, 2] -> !transform.param<i64>
    %i8_dots = transform.tune.knob<"i8_dots"> = 0 : i64 from options = [0, 1, 2, 3] -> !transform.param<i64>
    %tile_rows = transform.tune.knob<"tile_rows"> = 512 : i64 from options = [128, 256, 512, 1024] -> !transform.param<i64>
    %tile_w = transform.tune.knob<"tile_w"> = 7 : i64 from options = [4, 5, 6, 7, 8, 14] -> !transform.param<i64>
    %tile_f = transform.tune.knob<"tile_f"> = 32 : i64 from options = [8, 16, 32, 64] -> !transform.param<i64>
    %winograd = transform.tune.knob<"winograd"> = 1 : i64 from options = [0, 1] -> !transform.param<i64>

    // Ops of arith and math on whole tensors are ops by elements.
    %of_arith = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %of_linalg = transform.apply_registered_pass "convert-elementwise-to-linalg" to %of_arith : (!transform.any_op) -> !transform.any_op
    transform.include @generalize_named_ops failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @take_tensors failures(propagate) (%root) : (!transform.any_op) -> ()
    // Small convolutions and poolings stay loops, and so do all ops of functions that have tiny ones only.
    %generic_ops = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    "lhkit.mark_small_ops"(%generic_ops) {most = 384, mark = "aside", windows = true, most_in_each = 128} : (!transform.any_op) -> ()
    transform.include @split_zero_points failures(propagate) (%root) : (!transform.any_op) -> ()
    // Convolutions are products of the filter and copied windows; those of each channel for itself, and poolings, work
    // by elements on as many slices as a window has places.
    transform.include @convolutions_of_images failures(propagate) (%root) : (!transform.any_op) -> ()
    %windows = transform.include @convolutions_to_contractions failures(propagate) (%root, %window_elements)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.include @schedule_images_apart failures(propagate) (%root, %tile_w, %tile_f, %narrow_tile_m, %lanes, %lanes_64, %winograd)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>,
         !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @collapse_multipliers failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @unroll_windows failures(propagate) (%root) : (!transform.any_op) -> ()
    // Products of 16-bit floats are added up in f32, and rounded by what reads them; so are those of integers of 8
    // bits, where that is exact.
    %of_floats = transform.collect_matching @is_narrow_contraction in %root : (!transform.any_op) -> !transform.any_op
    %of_integers = transform.collect_matching @is_integer_contraction in %root : (!transform.any_op) -> !transform.any_op
    %narrow = transform.merge_handles %of_floats, %of_integers : !transform.any_op
    transform.foreach %narrow : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @note_dots failures(suppress) (%each, %bf16_dots, %i8_dots)
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
      transform.include @try_add_up_in_f32 failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    // What works by elements becomes one op with what reads it, and reads through transposes and broadcasts.
    // Contractions are put aside meanwhile: they would take in what computes their operands, once for every use; so
    // are quotients and roots of what is one value for all channels, which would be computed in every channel.
    %found = transform.include @find_contractions failures(propagate) (%root) : (!transform.any_op) -> !transform.any_op
    %of_one_channel = transform.collect_matching @is_of_one_channel in %root : (!transform.any_op) -> !transform.any_op
    %statistics = transform.foreach %of_one_channel : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %costly = transform.include @unless_cheap failures(suppress) (%each) : (!transform.any_op) -> !transform.any_op
      transform.yield %costly : !transform.any_op
    }
    // Those of channels with a few filters would lose their mark.
    %of_multipliers = transform.structured.match attributes {of_multiplier} in %root : (!transform.any_op) -> !transform.any_op
    %left = transform.structured.match attributes {aside} in %root : (!transform.any_op) -> !transform.any_op
    %kept = transform.merge_handles deduplicate %found, %windows, %statistics, %of_multipliers, %left : !transform.any_op
    %put_aside = "lhkit.outline_ops"(%kept) {name = "contraction"} : (!transform.any_op) -> !transform.any_op
    // Generic ops that do not read what they write to, such as an argument, are given a new tensor; so are fills.
    %fills_before = transform.structured.match ops{["linalg.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %fills_before @fills_new_tensor -> @keep_named, @is_named -> @mark_to_generalize
      : (!transform.any_op) -> !transform.any_op
    %of_argument = transform.structured.match ops{["linalg.fill"]} attributes {named} in %root : (!transform.any_op) -> !transform.any_op
    %generic_fills = transform.structured.generalize %of_argument : (!transform.any_op) -> !transform.any_op
    transform.annotate %generic_fills "is_fill" : !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %merged = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    %left_fills = transform.structured.match ops{["linalg.generic"]} attributes {is_fill} in %root
      : (!transform.any_op) -> !transform.any_op
    %fills_after = transform.structured.specialize %left_fills : (!transform.any_op) -> !transform.any_op
    %payload = transform.apply_registered_pass "inline" to %root : (!transform.any_op) -> !transform.any_op
    transform.include @unroll_windows_of_multipliers failures(propagate) (%payload) : (!transform.any_op) -> ()

    // What is reduced along several short dimensions is reduced along one, where that is a whole row of memory.
    %generic_ops_0 = transform.structured.match ops{["linalg.generic"]} in %payload : (!transform.any_op) -> !transform.any_op
    %flat = "lhkit.collapse_reduced_dims"(%generic_ops_0) : (!transform.any_op) -> !transform.any_op

    // Attention goes by rows of queries, whatever computes its operands.
    transform.include @find_attention failures(propagate) (%payload) : (!transform.any_op) -> ()
    %apart = transform.include @find_contractions_apart failures(propagate) (%payload) : (!transform.any_op) -> !transform.any_op
    %out_of_reach = "lhkit.outline_ops"(%apart) {name = "operand"} : (!transform.any_op) -> !transform.any_op
    transform.include @fuse_attention failures(propagate) (%payload, %rows) : (!transform.any_op, !transform.param<i64>) -> ()
    %payload_0 = transform.apply_registered_pass "inline" to %payload : (!transform.any_op) -> !transform.any_op

    // What follows a batch of products by elements is computed product by product.
    %zero = transform.param.constant 0 : i64 -> !transform.param<i64>
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    %both = transform.merge_handles %zero, %one : !transform.param<i64>
    %of_two = transform.collect_matching @is_contraction in %payload_0 : (!transform.any_op) -> !transform.any_op
    transform.foreach %of_two : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_batch failures(suppress) (%each, %both) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    %of_one = transform.collect_matching @is_contraction in %payload_0 : (!transform.any_op) -> !transform.any_op
    transform.foreach %of_one : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_batch failures(suppress) (%each, %zero) : (!transform.any_op, !transform.param<i64>) -> ()
    }

    // Contractions become products of matrices; where that cannot be, those that are such products are called so.
    %contractions = transform.include @find_contractions failures(propagate) (%payload_0) : (!transform.any_op) -> !transform.any_op
    "lhkit.mark_small_ops"(%contractions) {most = 384, mark = "aside"} : (!transform.any_op) -> ()
    transform.foreach %contractions : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @leave_small_product failures(suppress) (%each) : (!transform.any_op) -> ()
      transform.include @note_dots failures(suppress) (%each, %bf16_dots, %i8_dots)
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
      transform.include @multiply_matrices failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    // What is the same for all rows of queries, such as transposed keys, is computed once.
    %row_loops = transform.structured.match ops{["scf.for"]} in %payload_0 : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %row_loops : !transform.any_op
    %plain = transform.collect_matching @is_plain_product in %payload_0 : (!transform.any_op) -> !transform.any_op
    transform.foreach %plain : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @call_matmul failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    transform.include @mark_ends failures(propagate) (%payload_0) : (!transform.any_op) -> ()
    %of_constants = transform.structured.match ops{["linalg.matmul"]} in %payload_0 : (!transform.any_op) -> !transform.any_op
    transform.foreach %of_constants : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @note_transposed_constant failures(suppress) (%each) : (!transform.any_op) -> ()
    }

    // All other ops, while products, what they start from and what ends them are put aside.
    %others = transform.include @functions_on_tensors failures(propagate) (%payload_0) : (!transform.any_op) -> !transform.any_op
    %products = transform.structured.match ops{["linalg.matmul"]} in %payload_0 : (!transform.any_op) -> !transform.any_op
    %before = transform.foreach %products : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %start = transform.include @start_of failures(suppress) (%each) : (!transform.any_op) -> !transform.any_op
      transform.yield %start : !transform.any_op
    }
    %fills = transform.foreach %before : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %fill = transform.structured.match ops{["linalg.fill"]} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %fill : !transform.any_op
    }
    %starts = transform.merge_handles deduplicate %fills : !transform.any_op
    %ends = transform.structured.match attributes {role = "epilogue"} in %payload_0 : (!transform.any_op) -> !transform.any_op
    // Marks are lost with unit extents.
    %rest = transform.structured.match ops{["linalg.generic"]} in %payload_0 : (!transform.any_op) -> !transform.any_op
    "lhkit.mark_small_ops"(%rest) {most = 384, mark = "aside", windows = true} : (!transform.any_op) -> ()
    %small_ones = transform.structured.match attributes {aside} in %payload_0 : (!transform.any_op) -> !transform.any_op
    transform.annotate %small_ones "in_loops" : !transform.any_op
    %layers = transform.merge_handles deduplicate %starts, %products, %ends, %small_ones : !transform.any_op
    transform.annotate %layers "aside" : !transform.any_op
    %calls = "lhkit.outline_ops"(%layers) {name = "layer"} : (!transform.any_op) -> !transform.any_op
    transform.include @schedule_depthwise failures(propagate) (%payload_0, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.include @schedule_windows failures(propagate) (%payload_0) : (!transform.any_op) -> ()
    transform.foreach %others : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @schedule_reductions failures(propagate) (%each, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
      transform.include @schedule_elementwise failures(propagate) (%each, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    // Ops of affine could not be inlined into loops.
    %aside = transform.structured.match ops{["func.func"]} attributes {sym_visibility = "private"} in %payload_0
      : (!transform.any_op) -> !transform.any_op
    %without_affine = transform.apply_registered_pass "lower-affine" to %aside : (!transform.any_op) -> !transform.any_op
    %payload_1 = transform.apply_registered_pass "inline" to %payload_0 : (!transform.any_op) -> !transform.any_op

    // Tiles of products in registers; products of 64-bit numbers come after the others, in tiles half as wide.
    transform.include @multiply_by_dot_products failures(propagate) (%payload_1, %tile_rows, %bf16_dots, %i8_dots)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    %foreign = transform.structured.match ops{["tensor.pad", "linalg.copy"]} in %payload_1 : (!transform.any_op) -> !transform.any_op
    transform.annotate %foreign "foreign" : !transform.any_op
    transform.include @put_off_64_bits failures(propagate) (%payload_1) : (!transform.any_op) -> ()
    transform.include @make_tiles failures(propagate) (%payload_1, %tile_m, %tile_n, %narrow_tile_m, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @make_tiles_if_put_off failures(suppress) (%payload_1, %tile_m, %tile_n_64, %narrow_tile_m, %lanes_64)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @lower_contractions failures(propagate) (%payload_1) : (!transform.any_op) -> ()
    %done = transform.structured.match ops{["func.func"]} in %payload_1 : (!transform.any_op) -> !transform.any_op
    "lhkit.expand_math"(%done) : (!transform.any_op) -> ()
    transform.apply_cse to %done : !transform.any_op
    // What is put into a whole is computed there, whatever loops of one iteration it lost on the way.
    transform.apply_patterns to %done {
      transform.apply_patterns.tensor.reassociative_reshape_folding
    } : !transform.any_op
    %loops = transform.structured.match ops{["scf.for"]} in %payload_1 : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %loops : !transform.any_op
    transform.yield
  }

  // Make vectors of convolutions of images, each in a function of its own with the loop around it.
  transform.named_sequence private @schedule_images_apart(%root: !transform.any_op {transform.readonly},
      %tile_w: !transform.param<i64> {transform.readonly}, %tile_f: !transform.param<i64> {transform.readonly},
      %narrow_tile_w: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly},
      %half: !transform.param<i64> {transform.readonly}, %winograd: !transform.param<i64> {transform.readonly}) {
    %found = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root : (!transform.any_op) -> !transform.any_op
    %loops = transform.get_parent_op %found {op_name = "scf.for"} : (!transform.any_op) -> !transform.any_op
    %calls = "lhkit.outline_ops"(%loops) {name = "images"} : (!transform.any_op) -> !transform.any_op
    %convolutions = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root : (!transform.any_op) -> !transform.any_op
    // Few filters fill one vector, or half of one.
    %seen = transform.foreach_match restrict_root in %convolutions, %half, %lanes
        @fill_half_a_vector -> @mark_half, @fill_one_vector -> @mark_one, @fill_several_vectors -> @mark_several
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %by_halves = transform.structured.match attributes {filters = "half"} in %root : (!transform.any_op) -> !transform.any_op
    transform.include @schedule_images_around failures(propagate) (%by_halves, %narrow_tile_w, %half, %half, %winograd)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    %narrow = transform.structured.match attributes {filters = "one"} in %root : (!transform.any_op) -> !transform.any_op
    transform.include @schedule_images_around failures(propagate) (%narrow, %narrow_tile_w, %lanes, %lanes, %winograd)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    %wide = transform.structured.match attributes {filters = "several"} in %root : (!transform.any_op) -> !transform.any_op
    transform.include @schedule_images_around failures(propagate) (%wide, %tile_w, %tile_f, %lanes, %winograd)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.yield
  }
  transform.named_sequence private @schedule_images_around(%convolutions: !transform.any_op {transform.readonly},
      %tile_w: !transform.param<i64> {transform.readonly}, %tile_f: !transform.param<i64> {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}, %winograd: !transform.param<i64> {transform.readonly}) {
    %strip_f = transform.param.constant 512 : i64 -> !transform.param<i64>
    %block_c = transform.param.constant 64 : i64 -> !transform.param<i64>
    %tiles = transform.param.constant 64 : i64 -> !transform.param<i64>
    %threads = transform.param.constant 1 : i64 -> !transform.param<i64>
    %functions = transform.get_parent_op %convolutions {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    transform.foreach %functions : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @schedule_images failures(propagate) (%each, %tile_w, %tile_f, %strip_f, %block_c, %lanes, %threads, %winograd, %tiles)
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>,
           !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @fill_half_a_vector(%op: !transform.any_op {transform.readonly},
      %half: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %filters = transform.include @filters_of failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi le %filters, %half : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @fill_one_vector(%op: !transform.any_op {transform.readonly},
      %half: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %filters = transform.include @filters_of failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi le %filters, %lanes : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @fill_several_vectors(%op: !transform.any_op {transform.readonly},
      %half: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @filters_of(%op: !transform.any_op {transform.readonly}) -> !transform.param<i64> {
    %filters = transform.match.structured %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%convolution: !transform.any_op):
      %f = transform.match.structured.dim %convolution[3] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %f : !transform.param<i64>
    }
    transform.yield %filters : !transform.param<i64>
  }
  transform.named_sequence private @mark_half(%op: !transform.any_op {transform.readonly}) {
    %name = transform.param.constant "half" -> !transform.any_param
    transform.annotate %op "filters" = %name : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @mark_one(%op: !transform.any_op {transform.readonly}) {
    %name = transform.param.constant "one" -> !transform.any_param
    transform.annotate %op "filters" = %name : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @mark_several(%op: !transform.any_op {transform.readonly}) {
    %name = transform.param.constant "several" -> !transform.any_param
    transform.annotate %op "filters" = %name : !transform.any_op, !transform.any_param
    transform.yield
  }

  // Cut products into tiles, and make vectors of these.
  transform.named_sequence private @make_tiles(%root: !transform.any_op {transform.readonly},
      %tile_m: !transform.param<i64> {transform.readonly}, %tile_n: !transform.param<i64> {transform.readonly},
      %narrow_tile_m: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) {
    transform.include @tile_layers failures(propagate) (%root, %tile_m, %tile_n, %narrow_tile_m, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @vectorize_layer_tiles failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
  // The same where products were put off. What is included may not go on after a step that fails.
  transform.named_sequence private @make_tiles_if_put_off(%root: !transform.any_op {transform.readonly},
      %tile_m: !transform.param<i64> {transform.readonly}, %tile_n: !transform.param<i64> {transform.readonly},
      %narrow_tile_m: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) {
    transform.include @make_tiles_of_put_off failures(propagate) (%root, %tile_m, %tile_n, %narrow_tile_m, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.yield
  }
  transform.named_sequence private @make_tiles_of_put_off(%root: !transform.any_op {transform.readonly},
      %tile_m: !transform.param<i64> {transform.readonly}, %tile_n: !transform.param<i64> {transform.readonly},
      %narrow_tile_m: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) {
    %bare = transform.structured.match attributes {put_off = "itself"} in %root : (!transform.any_op) -> !transform.any_op
    %with_epilogue = transform.structured.match attributes {put_off = "epilogue"} in %root : (!transform.any_op) -> !transform.any_op
    %put_off = transform.merge_handles %bare, %with_epilogue : !transform.any_op
    %count = transform.num_associations %put_off : (!transform.any_op) -> !transform.param<i64>
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %count, %one : !transform.param<i64>
    %by_epilogue = transform.param.constant "epilogue" -> !transform.any_param
    %itself = transform.param.constant "itself" -> !transform.any_param
    %epilogues = transform.structured.match attributes {role = "put off"} in %root : (!transform.any_op) -> !transform.any_op
    %matmuls = transform.structured.specialize %bare : (!transform.any_op) -> !transform.any_op
    transform.annotate %matmuls "end" = %itself : !transform.any_op, !transform.any_param
    %matmuls_1 = transform.structured.specialize %with_epilogue : (!transform.any_op) -> !transform.any_op
    transform.annotate %matmuls_1 "end" = %by_epilogue : !transform.any_op, !transform.any_param
    transform.annotate %epilogues "role" = %by_epilogue : !transform.any_op, !transform.any_param
    transform.include @make_tiles failures(propagate) (%root, %tile_m, %tile_n, %narrow_tile_m, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.yield
  }
  // Products of 64-bit numbers are called generic until their turn comes.
  transform.named_sequence private @put_off_64_bits(%root: !transform.any_op {transform.readonly}) {
    %products = transform.collect_matching @is_product_of_64_bits in %root : (!transform.any_op) -> !transform.any_op
    %bare = transform.foreach %products : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %in_one = transform.structured.match attributes {end = "itself"} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %in_one : !transform.any_op
    }
    %with_epilogue = transform.foreach %products : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %in_one = transform.structured.match attributes {end = "epilogue"} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %in_one : !transform.any_op
    }
    %epilogues = transform.include @ends_of failures(propagate) (%with_epilogue) : (!transform.any_op) -> !transform.any_op
    %put_off = transform.param.constant "put off" -> !transform.any_param
    %by_epilogue = transform.param.constant "epilogue" -> !transform.any_param
    %itself = transform.param.constant "itself" -> !transform.any_param
    transform.annotate %epilogues "role" = %put_off : !transform.any_op, !transform.any_param
    %generic = transform.structured.generalize %bare : (!transform.any_op) -> !transform.any_op
    transform.annotate %generic "put_off" = %itself : !transform.any_op, !transform.any_param
    %generic_1 = transform.structured.generalize %with_epilogue : (!transform.any_op) -> !transform.any_op
    transform.annotate %generic_1 "put_off" = %by_epilogue : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @is_product_of_64_bits(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %bits = transform.include @width_of_result failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %bits, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }

  // Let functions that compute on memrefs compute on tensors, but for those that use parts of memrefs, or loops.
  transform.named_sequence private @take_tensors(%root: !transform.any_op {transform.readonly}) {
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %functions : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_tensors failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @try_tensors(%function: !transform.any_op {transform.readonly}) {
    "lhkit.memrefs_to_tensors"(%function) : (!transform.any_op) -> ()
    transform.yield
  }

  // Write named ops as generic ones, which say what they do by maps and a body; not what is no faster for it.
  transform.named_sequence private @generalize_named_ops(%root: !transform.any_op {transform.readonly}) {
    %softmax = transform.structured.match ops{["linalg.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    %parts = transform.structured.decompose_interface %softmax : (!transform.any_op) -> !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.foreach_match in %function @stays_named -> @keep_named, @is_named -> @mark_to_generalize : (!transform.any_op) -> !transform.any_op
    %named = transform.foreach %all : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %in_one = transform.structured.match attributes {named} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %in_one : !transform.any_op
    }
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @stays_named(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic", "linalg.fill", "linalg.pack", "linalg.unpack"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_named(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%structured: !transform.any_op):
      transform.match.structured.yield
    }
    transform.yield %op : !transform.any_op
  }
  // Or a part of one, as in the loops over blocks of a convolution.
  transform.named_sequence private @fills_new_tensor(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %start = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.any_op {
    ^bb0(%fill: !transform.any_op):
      %maker = transform.match.structured.init %fill[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %maker : !transform.any_op
    }
    transform.match.operation_name %start ["tensor.empty", "tensor.extract_slice"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @keep_named(%op: !transform.any_op {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence private @mark_to_generalize(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "named" : !transform.any_op
    transform.yield
  }

  // It works by elements, and has one channel (the second dimension) and several places.
  transform.named_sequence private @is_of_one_channel(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %loops, %channels, %places = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %channels_in = transform.match.structured.dim %linalg[1] : (!transform.any_op) -> !transform.param<i64>
      %places_in = transform.match.structured.dim %linalg[-1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %channels_in, %places_in
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %three = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %three : !transform.param<i64>
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %channels, %one : !transform.param<i64>
    transform.match.param.cmpi ne %places, %one : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @unless_cheap(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %costly = transform.include @is_costly failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.yield %costly : !transform.any_op
  }
  // It divides, or calls a function.
  transform.named_sequence private @is_costly(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %costly = transform.structured.match ops{["arith.divf", "math.sqrt", "math.rsqrt", "math.exp", "math.log", "math.tanh",
      "math.erf"]} in %op : (!transform.any_op) -> !transform.any_op
    %count = transform.num_associations %costly : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %count, %none : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }

  // One product of two operands is added to the result, over any dimensions. Operands may be extended before that.
  transform.named_sequence private @find_contractions(%root: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %of_floats = transform.collect_matching @is_contraction in %root : (!transform.any_op) -> !transform.any_op
    %of_integers = transform.collect_matching @is_integer_contraction in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.merge_handles %of_floats, %of_integers : !transform.any_op
    transform.yield %all : !transform.any_op
  }
  // The contractions that are no part of an attention.
  transform.named_sequence private @find_contractions_apart(%root: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %all = transform.include @find_contractions failures(propagate) (%root) : (!transform.any_op) -> !transform.any_op
    %apart = transform.foreach %all : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %kept = transform.include @unless_of_attention failures(suppress) (%each) : (!transform.any_op) -> !transform.any_op
      transform.yield %kept : !transform.any_op
    }
    transform.yield %apart : !transform.any_op
  }
  transform.named_sequence private @unless_of_attention(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %kept = transform.include @is_not_of_attention failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.yield %kept : !transform.any_op
  }
  transform.named_sequence private @is_not_of_attention(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %scores = transform.structured.match attributes {attention_scores} in %op : (!transform.any_op) -> !transform.any_op
    %values = transform.structured.match attributes {attention_values} in %op : (!transform.any_op) -> !transform.any_op
    %either = transform.merge_handles %scores, %values : !transform.any_op
    %marks = transform.num_associations %either : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %marks, %none : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_contraction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.body %generic {contraction = ["arith.mulf", "arith.addf"]} : !transform.any_op
      transform.match.structured.yield
    }
    %bits = transform.include @width_of_result failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %bits, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_integer_contraction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.body %generic {contraction = ["arith.muli", "arith.addi"]} : !transform.any_op
      transform.match.structured.yield
    }
    %bits = transform.include @width_of_result failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %bits, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // Which dot products the CPU has, for contractions of operands that are narrower than 32 bits.
  transform.named_sequence private @note_dots(%op: !transform.any_op {transform.readonly},
      %bf16: !transform.param<i64> {transform.readonly}, %i8: !transform.param<i64> {transform.readonly}) {
    transform.include @note_dots_of_narrow failures(propagate) (%op, %bf16, %i8)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.yield
  }
  transform.named_sequence private @note_dots_of_narrow(%op: !transform.any_op {transform.readonly},
      %bf16: !transform.param<i64> {transform.readonly}, %i8: !transform.param<i64> {transform.readonly}) {
    %bits = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%structured: !transform.any_op):
      %operand = transform.match.structured.input %structured[0] : (!transform.any_op) -> !transform.any_value
      %width = transform.match.structured.elemental_bitwidth %operand : (!transform.any_value) -> !transform.param<i64>
      transform.match.structured.yield %width : !transform.param<i64>
    }
    %wide = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi lt %bits, %wide : !transform.param<i64>
    transform.annotate %op "bf16_dots" = %bf16 : !transform.any_op, !transform.param<i64>
    transform.annotate %op "i8_dots" = %i8 : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @try_add_up_in_f32(%contraction: !transform.any_op {transform.consumed}) {
    transform.include @add_up_in_f32_unless_aside failures(propagate) (%contraction) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @add_up_in_f32_unless_aside(%contraction: !transform.any_op {transform.consumed}) {
    %same = transform.include @has_result_and_is_not_aside failures(propagate) (%contraction) : (!transform.any_op) -> !transform.any_op
    %widened = "lhkit.add_up_in_f32"(%contraction) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  // One of bf16 or f16.
  transform.named_sequence private @is_narrow_contraction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.body %generic {contraction = ["arith.mulf", "arith.addf"]} : !transform.any_op
      transform.match.structured.yield
    }
    %bits = transform.include @width_of_result failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %bits, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @width_of_result(%op: !transform.any_op {transform.readonly}) -> !transform.param<i64> {
    %bits = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%structured: !transform.any_op):
      %result = transform.match.structured.init %structured[0] : (!transform.any_op) -> !transform.any_value
      %width = transform.match.structured.elemental_bitwidth %result : (!transform.any_value) -> !transform.param<i64>
      transform.match.structured.yield %width : !transform.param<i64>
    }
    transform.yield %bits : !transform.param<i64>
  }
  transform.named_sequence private @multiply_matrices(%contraction: !transform.any_op {transform.consumed}) {
    transform.include @multiply_matrices_not_aside failures(propagate) (%contraction) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @multiply_matrices_not_aside(%contraction: !transform.any_op {transform.consumed}) {
    %same = transform.include @has_result_and_is_not_aside failures(propagate) (%contraction) : (!transform.any_op) -> !transform.any_op
    %product = "lhkit.contraction_to_matmul"(%contraction) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  // Fuse products of a batch, whose dimensions are the first of their loops, into the only op that reads them, if that
  // works by elements: those of the first dimension one after the other.
  transform.named_sequence private @try_batch(%contraction: !transform.any_op {transform.consumed},
      %dims: !transform.param<i64> {transform.readonly}) {
    transform.include @fuse_batch failures(propagate) (%contraction, %dims) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.yield
  }
  transform.named_sequence private @fuse_batch(%contraction: !transform.any_op {transform.consumed},
      %dims: !transform.param<i64> {transform.readonly}) {
    %apart = transform.include @is_not_of_attention failures(propagate) (%contraction) : (!transform.any_op) -> !transform.any_op
    // One on memrefs has no result, for which matchers may not ask.
    // lhkit: allow unused-handle
    %result = transform.get_result %contraction[0] : (!transform.any_op) -> !transform.any_value
    %reader, %batch, %count = transform.match.structured failures(propagate) %contraction
      : (!transform.any_op) -> (!transform.any_op, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%product: !transform.any_op):
      %user = transform.match.structured.result %product[0] {single} : (!transform.any_op) -> !transform.any_op
      %b, %m, %n, %k = transform.match.structured.classify_contraction_dims %product
        : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>)
      %size = transform.match.structured.dim %product[0] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %user, %b, %size : !transform.any_op, !transform.param<i64>, !transform.param<i64>
    }
    transform.match.param.cmpi eq %batch, %dims : !transform.param<i64>
    transform.match.operation_name %reader ["linalg.generic"] : !transform.any_op
    %count_read = transform.match.structured failures(propagate) %reader : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[all] {parallel} : !transform.any_op
      %size = transform.match.structured.dim %generic[0] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size : !transform.param<i64>
    }
    transform.match.param.cmpi eq %count_read, %count : !transform.param<i64>
    %start = transform.include @start_of failures(suppress) (%contraction) : (!transform.any_op) -> !transform.any_op
    %fill = transform.foreach %start : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %in_one = transform.structured.match ops{["linalg.fill"]} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %in_one : !transform.any_op
    }
    %end, %loop = transform.structured.tile_using_for %reader tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %loop_1 = transform.structured.fuse_into_containing_op %contraction into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %fill_inside, %loop_2 = transform.structured.fuse_into_containing_op %fill into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    // The one product in the loop has no batch; only generic ops lose such dimensions.
    %zeros = transform.structured.generalize %fill_inside : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %loop_2 {
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %product = transform.collect_matching @is_contraction in %loop_2 : (!transform.any_op) -> !transform.any_op
    %zeros_1 = transform.get_producer_of_operand %product[2] : (!transform.any_op) -> !transform.any_op
    %fill_1 = transform.structured.specialize %zeros_1 : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  // A contraction of three loops, the last one over the steps, with several rows and columns.
  transform.named_sequence private @is_plain_product(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %contraction = transform.include @is_contraction failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    %loops, %rows, %columns = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%generic: !transform.any_op):
      %rank = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %generic[-1] {reduction} : !transform.any_op
      %height = transform.match.structured.dim %generic[0] {parallel} : (!transform.any_op) -> !transform.param<i64>
      %width = transform.match.structured.dim %generic[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %rank, %height, %width
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %three = transform.param.constant 3 : i64 -> !transform.param<i64>
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %three : !transform.param<i64>
    transform.match.param.cmpi ne %rows, %one : !transform.param<i64>
    transform.match.param.cmpi ne %columns, %one : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @call_matmul(%product: !transform.any_op {transform.consumed}) {
    transform.include @call_matmul_of_tensors failures(propagate) (%product) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @call_matmul_of_tensors(%product: !transform.any_op {transform.consumed}) {
    %same = transform.include @has_result_and_is_not_aside failures(propagate) (%product) : (!transform.any_op) -> !transform.any_op
    %named = transform.structured.specialize %product : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  // The op that computes what a product is added to; nothing where that is an argument.
  transform.named_sequence private @start_of(%matmul: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %start = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    transform.yield %start : !transform.any_op
  }

  // In parts/loop_order.mlir:
  transform.named_sequence private @has_result_and_is_not_aside(!transform.any_op {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @functions_on_tensors(!transform.any_op {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @leave_small_product(!transform.any_op {transform.readonly})
  // In parts/dot_products.mlir:
  transform.named_sequence private @multiply_by_dot_products(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/packed.mlir:
  transform.named_sequence private @note_transposed_constant(!transform.any_op {transform.readonly})
  // In parts/attention.mlir:
  transform.named_sequence private @find_attention(!transform.any_op {transform.readonly})
  transform.named_sequence private @fuse_attention(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/image_tiles.mlir:
  transform.named_sequence private @schedule_images(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/convolutions.mlir:
  transform.named_sequence private @split_zero_points(!transform.any_op {transform.readonly})
  transform.named_sequence private @convolutions_of_images(!transform.any_op {transform.readonly})
  transform.named_sequence private @convolutions_to_contractions(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @schedule_windows(!transform.any_op {transform.readonly})
  transform.named_sequence private @collapse_multipliers(!transform.any_op {transform.readonly})
  transform.named_sequence private @unroll_windows(!transform.any_op {transform.readonly})
  transform.named_sequence private @unroll_windows_of_multipliers(!transform.any_op {transform.readonly})
  transform.named_sequence private @schedule_depthwise(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/layers.mlir:
  transform.named_sequence private @mark_ends(!transform.any_op {transform.readonly})
  transform.named_sequence private @ends_of(!transform.any_op {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @vectorize_layer_tiles(!transform.any_op {transform.readonly})
  transform.named_sequence private @tile_layers(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/reductions.mlir and parts/elementwise.mlir:
  transform.named_sequence private @schedule_reductions(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly})
  transform.named_sequence private @schedule_elementwise(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @lower_contractions(!transform.any_op {transform.readonly})
}

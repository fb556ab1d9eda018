// Payload: data/matmul.mlir, or anything with linalg.matmul of f32, in any shape from 1x1x1 on, static or dynamic,
//          named as such and not yet tiled. What computes the operands should not be an op of linalg: it would be
//          computed again for every strip.
// Idea:    a tile of the result stays in vector registers while the reduction runs over it, from zero on if the
//          result starts from a fill; the columns that a strip of tiles reads are copied once into a panel without
//          gaps, which then stays in the second-level cache. Ends are peeled; what is narrower than a vector is
//          filled up with zeros. Where the left-hand side is large, all panels are filled first, and the rows go in
//          blocks: each block is read from memory once, and the panels from the third-level cache once a block; the
//          last tiles of a strip prefetch the next panel, and each tile the lines of its result.
//          Shapes that gain nothing from a panel go another way: results of up to 4 columns are sums along rows; up
//          to 4 rows of a large right-hand side read this row by row, eight steps of the reduction at a time; up to
//          12 rows, or a reduction of up to 32 steps, are computed without packing, row by row of tiles, and up to
//          576 columns and 512 steps strip by strip, if tiles have 64 columns or more: that right-hand side is read
//          from where it is as fast as from a panel, and copying it is 2 to 4 % of the time. A right-hand side that
//          is a constant, as one that kernel.bind has bound, is packed before the loops, which lhkit does once and
//          not in every call.
// Knobs:   tile_m, tile_n: rows and columns of a tile; lanes: f32 in a vector. tile_m * tile_n / lanes
//          accumulators have to fit the vector registers with room for the operands: 6, 64, 16 for AVX-512;
//          4, 24, 8 for AVX2; 8, 8, 4 for NEON; 4, 8, 4 for SSE. middle_n: columns of a strip of what is left beside
//          panels that are tile_n wide, before ones of one vector. narrow_tile_m: rows of a tile one vector wide.
//          large: rows and steps from which rows go in blocks, which are of block_m rows. threads: how many share
//          the columns of a result.
// Result:  one core of an AMD EPYC with AVX-512 (32 KiB, 1 MiB, 32 MiB of cache; one 512-bit FMA a cycle), as
//          multiples of NumPy 2 (OpenBLAS, one thread, the faster of its calls) and per cent of the FMA peak, medians
//          of one run on a quiet machine (lhkit bench --suite): 512: 1.14, 95; 1024: 1.11, 91; 2048: 1.08, 92. Twenty
//          odd shapes: geometric mean 1.35, least .93. In AVX2 code, beside OpenBLAS's kernel for Haswell: 512: 1.04,
//          94; 1024: 1.00, 91; 2048: 1.02, 90; odd ones 1.31, .93. About 0.1 s to compile for whole tiles, 0.2 to
//          0.4 s with ends in all directions.
//          An Intel Xeon with AVX-512 and 2 MiB of second-level cache has no use for blocks: by panels it reaches 93 %
//          of the peak at 2048, in blocks of rows 79 %; NumPy has 79 % there, 1.18 times as slow.
// Limits:  NumPy itself has 83 to 91 % of the peak on this machine: all of it would be 1.1 to 1.2 times as fast.
//          Rows of the left-hand side that begin 4 KiB apart (1024) cost 4 % (a reduction of 1040 steps takes less
//          time); neither blocks of rows nor prefetches, of these rows or of the result, give it back.
//          The loop over the reduction is bound by FMAs alone (98 to 100 % of the peak on panels in the second-level
//          cache). AVX2: 4x24 has three loads of the right-hand side and four of the left for 12 FMAs; 6x16 has
//          eight for 12, from six rows whose lines compete, and reaches 91 % of the peak unless the left-hand side
//          is packed too, which costs what it gains. At 2048, 6x16 by strips had .84 of NumPy. AVX-512: tiles of
//          4x64, 8x32, 8x48 and 12x32 are as fast as 6x64 at 512, and slower or equal at 2048. What is missing is
//          waiting for the third-level cache where tiles begin and end: without the copy into panels the same loop
//          gains 2 to 4 %, with results written to one small buffer 2 %, with the same rows of the left-hand side
//          for all tiles 1 % (512, 1024) to 3 % (2048). Blocks of the reduction, and packing while the first tile is
//          computed (loop.fuse_sibling) were measured, and are not faster.
// lhkit: library parts/cpu.mlir
// lhkit: library parts/packed.mlir
// lhkit: require tile_n % lanes == 0
// lhkit: require middle_n % lanes == 0
// lhkit: default lanes = vector_bits / 32
// lhkit: default tile_n = 64 if vector_bits == 512 else 24 if vector_bits == 256 else vector_bits / 16
// lhkit: default middle_n = 64 if vector_bits == 512 else vector_bits / 16
// lhkit: default tile_m = 6 if vector_bits == 512 else 8 if vector_registers == 32 else 4
// lhkit: default large = 16384 if l2_bytes >= 2097152 else 1280 if l2_bytes >= 1048576 else 896
// lhkit: default narrow_tile_m = 12 if vector_registers == 32 else 8
// What is done for the ways that a payload does not take, and for ends that it does not have, finds nothing:
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile_m = transform.tune.knob<"tile_m"> = 6 : i64 from options = [2, 4, 6, 8, 12] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [8, 12, 16, 24, 32, 48, 64] -> !transform.param<i64>
    %middle_n = transform.tune.knob<"middle_n"> = 64 : i64 from options = [8, 12, 16, 24, 32, 48, 64] -> !transform.param<i64>
    %narrow_tile_m = transform.tune.knob<"narrow_tile_m"> = 12 : i64 from options = [4, 6, 8, 12, 16] -> !transform.param<i64>
    %block_m = transform.tune.knob<"block_m"> = 384 : i64 from options = [96, 192, 384, 768] -> !transform.param<i64>
    %large = transform.tune.knob<"large"> = 1280 : i64 from options = [896, 1280, 1792, 16384] -> !transform.param<i64>
    %lanes = transform.tune.knob<"lanes"> = 16 : i64 from options = [4, 8, 16] -> !transform.param<i64>
    %threads = transform.tune.knob<"threads"> = 1 : i64 from options = [1, 2, 4, 8] -> !transform.param<i64>

    transform.include @share_columns_among_threads failures(propagate) (%root, %threads)
      : (!transform.any_op, !transform.param<i64>) -> ()
    // Which way to go depends on the shape: the first that fits.
    %all = transform.foreach_match in %root, %tile_n, %large
      @is_slim -> @take_dots, @is_large -> @take_blocks, @is_constant -> @take_constant_panels, @is_thin -> @take_streams,
      @is_flat -> @take_rows, @is_short -> @take_rows, @is_small -> @take_strips, @is_matmul -> @take_panels
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %by_dots = transform.structured.match attributes {way = "dots"} in %all : (!transform.any_op) -> !transform.any_op
    %by_rows = transform.structured.match attributes {way = "rows"} in %all : (!transform.any_op) -> !transform.any_op
    %by_streams = transform.structured.match attributes {way = "streams"} in %all : (!transform.any_op) -> !transform.any_op
    %by_strips = transform.structured.match attributes {way = "strips"} in %all : (!transform.any_op) -> !transform.any_op
    %by_panels = transform.structured.match attributes {way = "panels"} in %all : (!transform.any_op) -> !transform.any_op
    %by_blocks = transform.structured.match attributes {way = "blocks"} in %all : (!transform.any_op) -> !transform.any_op

    transform.include @tile_for_dots failures(propagate) (%all, %by_dots, %lanes)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> ()

    // Without panels, rows are tiled first: a tile of rows then writes the result from left to right.
    %row_tile, %row_tiles = transform.structured.fuse %by_rows tile_sizes [%tile_m]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %rows, %rest_rows = transform.include @split_off_rest failures(propagate) (%all, %row_tile, %row_tiles)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %unpacked = transform.merge_handles %rows, %rest_rows : !transform.any_op
    %wide_0, %narrow_0, %last_0 = transform.include @cut_into_strips failures(propagate) (%all, %unpacked, %tile_n, %lanes)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op, !transform.any_op)

    // Few rows: some steps of the reduction at a time for all columns, so that the right-hand side is read row by row.
    %wide_4, %narrow_4, %last_4 = transform.include @cut_into_streams failures(propagate) (%all, %by_streams, %tile_n, %lanes)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op, !transform.any_op)

    // Otherwise strips of columns come first: read where they are, or from panels.
    %wide_1, %narrow_1, %last_1 = transform.include @cut_into_strips failures(propagate) (%all, %by_strips, %tile_n, %lanes)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %wide, %others_2 = transform.include @cut_into_wide_strips failures(propagate) (%all, %by_panels, %tile_n)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    // Large results: strips of a block of rows, and then of the next, so that the left-hand side is read once.
    %block, %blocks = transform.structured.fuse %by_blocks tile_sizes [%block_m]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %wide_3, %others_3 = transform.include @cut_into_wide_strips failures(propagate) (%all, %block, %tile_n)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    // What is left of the columns: a strip of several vectors, then ones of one vector.
    transform.annotate %others_3 "panels_first" : !transform.any_op
    %others = transform.merge_handles %others_2, %others_3 : !transform.any_op
    %middle, %less = transform.include @cut_into_wide_strips failures(propagate) (%all, %others, %middle_n)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %narrow, %last_2 = transform.include @cut_into_wide_strips failures(propagate) (%all, %less, %lanes)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%all) : (!transform.any_op) -> ()

    // The columns of the right-hand side that a strip reads are copied once, into a panel without gaps.
    %packed, %panels, %copy_back = transform.structured.pad %wide
      {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [1], nofold_flags = [0, 1, 0], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    // In blocks, all panels are filled before the first one.
    %packed_3, %panel_3, %copy_back_3 = transform.structured.pad %wide_3
      {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [1], nofold_flags = [0, 1, 0], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %pad_3 = transform.cast %panel_3 : !transform.any_op to !transform.op<"tensor.pad">
    %panels_3 = transform.structured.hoist_pad %pad_3 by 2 loops : (!transform.op<"tensor.pad">) -> !transform.any_op
    %packed_4, %panels_4, %copy_back_4 = transform.structured.pad %middle
      {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [1], nofold_flags = [0, 1, 0], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %packed_1, %panels_1, %copy_back_1 = transform.structured.pad %narrow
      {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [1], nofold_flags = [0, 1, 0], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %hoisted_panels = transform.include @hoist_constant_panels failures(propagate) (%all, %packed, %panels)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> !transform.any_op
    %wide_panels = transform.merge_handles %hoisted_panels, %panels_3 : !transform.any_op
    transform.include @vectorize_rows failures(propagate) (%wide_panels, %tile_n)
      : (!transform.any_op, !transform.param<i64>) -> ()
    %middle_panels = transform.include @hoist_constant_panels failures(propagate) (%all, %packed_4, %panels_4)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> !transform.any_op
    transform.include @vectorize_rows failures(propagate) (%middle_panels, %middle_n)
      : (!transform.any_op, !transform.param<i64>) -> ()
    %narrow_panels = transform.include @hoist_constant_panels failures(propagate) (%all, %packed_1, %panels_1)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> !transform.any_op
    transform.include @vectorize_rows failures(propagate) (%narrow_panels, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> ()

    // What is narrower than a vector is filled up with zeros, the result too: it is computed beside its place.
    %last = transform.merge_handles %last_0, %last_1, %last_2, %last_4 : !transform.any_op
    %packed_2, %pads, %copy_back_2 = transform.structured.pad %last pad_to_multiple_of [%lanes]
      {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [1], nofold_flags = [0, 1, 0], copy_back_op = "linalg.copy"}
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    // A fill that is padded becomes a wider fill.
    transform.include @clean_up failures(propagate) (%all) : (!transform.any_op) -> ()
    %moves = transform.structured.match ops{["tensor.pad", "linalg.copy"]} in %all
      : (!transform.any_op) -> !transform.any_op
    transform.include @vectorize_rows failures(propagate) (%moves, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.include @clean_up failures(propagate) (%all) : (!transform.any_op) -> ()

    // Tiles of rows, and what is left at the end: as it is, or row by row if their number is dynamic.
    %high = transform.merge_handles %wide_1, %packed, %packed_3, %packed_4 : !transform.any_op
    %low = transform.merge_handles %narrow_1, %packed_1, %packed_2 : !transform.any_op
    transform.include @cut_into_tiles failures(propagate) (%all, %high, %tile_m)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> ()
    transform.include @cut_into_tiles failures(propagate) (%all, %low, %narrow_tile_m)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> ()
    transform.include @clean_up failures(propagate) (%all) : (!transform.any_op) -> ()
    %of_unknown_height = transform.collect_matching @has_unknown_height in %all
      : (!transform.any_op) -> !transform.any_op
    %row_1, %rows_1 = transform.structured.fuse %of_unknown_height tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%all) : (!transform.any_op) -> ()

    transform.include @cut_into_steps failures(propagate) (%all) : (!transform.any_op) -> ()
    %tiled = transform.structured.match ops{["linalg.matmul"]} in %all : (!transform.any_op) -> !transform.any_op
    %expected = transform.num_associations %tiled : (!transform.any_op) -> !transform.param<i64>
    transform.include @vectorize_tiles failures(propagate) (%all) : (!transform.any_op) -> ()
    transform.include @keep_tile_in_registers failures(propagate) (%all) : (!transform.any_op) -> ()
    // A tile that lost its contraction would be right and slow: better to fail.
    %contractions = transform.structured.match ops{["vector.contract"]} in %all
      : (!transform.any_op) -> !transform.any_op
    %found = transform.num_associations %contractions : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi eq %found, %expected : !transform.param<i64>
    transform.include @lower_contractions failures(propagate) (%all) : (!transform.any_op) -> ()
    transform.yield
  }

  // Give each thread some columns of a result, and with them those of the fill that it starts from: no thread packs
  // what another one packs. A single thread's share is all, and no loop is left.
  transform.named_sequence private @share_columns_among_threads(%root: !transform.any_op {transform.readonly},
      %threads: !transform.param<i64> {transform.readonly}) {
    %matmuls = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %matmuls : !transform.any_op {
    ^bb0(%matmul: !transform.any_op):
      %fill = transform.include @fill_or_nothing failures(suppress) (%matmul) : (!transform.any_op) -> !transform.any_op
      %share, %shares = transform.structured.tile_using_forall %matmul num_threads [0, %threads]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      %fill_share, %shares_1 = transform.structured.fuse_into_containing_op %fill into %shares
        : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // The fill that a matmul starts from; nothing where it starts from something else.
  transform.named_sequence private @fill_or_nothing(%matmul: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %fill = transform.include @fill_of failures(propagate) (%matmul) : (!transform.any_op) -> !transform.any_op
    transform.yield %fill : !transform.any_op
  }
  transform.named_sequence private @fill_of(%matmul: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %init = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %init ["linalg.fill"] : !transform.any_op
    transform.yield %init : !transform.any_op
  }

  // Cut into strips of columns; gives wide ones, ones as wide as a vector, and the narrower one at the end.
  transform.named_sequence private @cut_into_strips(%root: !transform.any_op {transform.readonly}, %matmul: !transform.any_op {transform.consumed},
      %tile_n: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly})
      -> (!transform.any_op, !transform.any_op, !transform.any_op) {
    %wide, %others = transform.include @cut_into_wide_strips failures(propagate) (%root, %matmul, %tile_n)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %narrow, %last = transform.include @cut_into_wide_strips failures(propagate) (%root, %others, %lanes)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield %wide, %narrow, %last : !transform.any_op, !transform.any_op, !transform.any_op
  }
  // Cut into strips of so many columns; gives these, and the narrower one at the end.
  transform.named_sequence private @cut_into_wide_strips(%root: !transform.any_op {transform.readonly}, %matmul: !transform.any_op {transform.consumed},
      %width: !transform.param<i64> {transform.readonly}) -> (!transform.any_op, !transform.any_op) {
    %strip, %strips = transform.structured.fuse %matmul tile_sizes [0, %width]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %whole, %rest = transform.include @split_off_rest failures(propagate) (%root, %strip, %strips)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield %whole, %rest : !transform.any_op, !transform.any_op
  }

  // Eight steps of the reduction at a time, and in each the columns of the result in tiles; gives these as cut_into_strips.
  transform.named_sequence private @cut_into_streams(%root: !transform.any_op {transform.readonly}, %matmul: !transform.any_op {transform.consumed},
      %tile_n: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly})
      -> (!transform.any_op, !transform.any_op, !transform.any_op) {
    %starts = transform.foreach %matmul : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %start = transform.include @start_of failures(suppress) (%each) : (!transform.any_op) -> !transform.any_op
      transform.yield %start : !transform.any_op
    }
    %each_fill = transform.foreach %starts : !transform.any_op -> !transform.any_op {
    ^bb0(%start: !transform.any_op):
      %found = transform.structured.match ops{["linalg.fill"]} in %start : (!transform.any_op) -> !transform.any_op
      transform.yield %found : !transform.any_op
    }
    %fills = transform.merge_handles deduplicate %each_fill : !transform.any_op
    %steps, %loops = transform.structured.tile_using_for %matmul tile_sizes [0, 0, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %whole, %rest = transform.include @split_off_rest failures(propagate) (%root, %steps, %loops)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %both = transform.merge_handles %whole, %rest : !transform.any_op
    %wide, %narrow, %last = transform.foreach %both : !transform.any_op -> !transform.any_op, !transform.any_op, !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %strip, %strips = transform.structured.tile_using_for %each tile_sizes [0, %tile_n]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      %wide_0, %others = transform.include @split_off_rest failures(propagate) (%root, %strip, %strips)
        : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
      %narrow_0, %last_0 = transform.foreach %others : !transform.any_op -> !transform.any_op, !transform.any_op {
      ^bb0(%other: !transform.any_op):
        %strip_1, %strips_1 = transform.structured.tile_using_for %other tile_sizes [0, %lanes]
          : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
        %narrow_1, %last_1 = transform.include @split_off_rest failures(propagate) (%root, %strip_1, %strips_1)
          : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
        transform.yield %narrow_1, %last_1 : !transform.any_op, !transform.any_op
      }
      transform.yield %wide_0, %narrow_0, %last_0 : !transform.any_op, !transform.any_op, !transform.any_op
    }
    // The result starts from zeros in memory.
    %piece, %pieces = transform.structured.tile_using_for %fills tile_sizes [0, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %columns = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.include @vectorize_rows failures(propagate) (%piece, %columns)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.yield %wide, %narrow, %last : !transform.any_op, !transform.any_op, !transform.any_op
  }

  // The op whose result a matmul adds to; nothing where that is an argument.
  transform.named_sequence private @start_of(%matmul: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %start = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    transform.yield %start : !transform.any_op
  }

  // Cut strips into tiles of so many rows, the rows left at the bottom apart.
  transform.named_sequence private @cut_into_tiles(%root: !transform.any_op {transform.readonly}, %strips: !transform.any_op {transform.consumed},
      %tile_m: !transform.param<i64> {transform.readonly}) {
    transform.foreach %strips : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %tile, %tiles = transform.structured.fuse %each tile_sizes [%tile_m]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      %whole, %bottom = transform.include @split_off_rest failures(propagate) (%root, %tile, %tiles)
        : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.yield
  }

  // Four rows at a time, a vector along each: sums of products that are added up across the vector at the end.
  transform.named_sequence private @tile_for_dots(%root: !transform.any_op {transform.readonly}, %matmul: !transform.any_op {transform.consumed},
      %lanes: !transform.param<i64> {transform.readonly}) {
    // With the right-hand side transposed both operands are read along rows.
    %turned = transform.structured.transpose_matmul %matmul <rhs>
      : (!transform.any_op) -> !transform.any_op
    %rows, %loops = transform.structured.tile_using_for %turned tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %whole, %bottom = transform.include @split_off_rest failures(propagate) (%root, %rows, %loops)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %both = transform.merge_handles %whole, %bottom : !transform.any_op
    transform.foreach %both : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %generic = transform.structured.generalize %each : (!transform.any_op) -> !transform.any_op
      %fill, %part, %sum, %steps = transform.structured.tile_reduction_using_for %generic by tile_sizes = [0, 0, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
      %step, %step_1 = transform.include @split_off_rest failures(propagate) (%root, %part, %steps)
        : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %sums = transform.structured.match ops{["linalg.generic", "linalg.reduce"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %sums : !transform.any_op
    transform.yield
  }

  // Marks of the ways.
  transform.named_sequence private @take_dots(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "dots" -> !transform.any_param
    transform.annotate %op "way" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @take_rows(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "rows" -> !transform.any_param
    transform.annotate %op "way" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @take_strips(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "strips" -> !transform.any_param
    transform.annotate %op "way" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @take_constant_panels(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "panels" -> !transform.any_param
    transform.annotate %op "way" = %way : !transform.any_op, !transform.any_param
    transform.annotate %op "panels_first" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @take_panels(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "panels" -> !transform.any_param
    transform.annotate %op "way" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @take_blocks(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "blocks" -> !transform.any_param
    transform.annotate %op "way" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @take_streams(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "streams" -> !transform.any_param
    transform.annotate %op "way" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  // A matmul of up to 4 rows that reads at least 256 rows of at least 512 columns.
  transform.named_sequence private @is_thin(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}, %large: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %height, %width, %steps = transform.match.structured %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%matmul: !transform.any_op):
      %rows = transform.match.structured.dim %matmul[0] : (!transform.any_op) -> !transform.param<i64>
      %columns = transform.match.structured.dim %matmul[1] : (!transform.any_op) -> !transform.param<i64>
      %length = transform.match.structured.dim %matmul[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %rows, %columns, %length
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    %few = transform.param.constant 4 : i64 -> !transform.param<i64>
    %many = transform.param.constant 512 : i64 -> !transform.param<i64>
    %some = transform.param.constant 256 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %height, %one : !transform.param<i64>
    transform.match.param.cmpi le %height, %few : !transform.param<i64>
    transform.match.param.cmpi ge %width, %many : !transform.param<i64>
    transform.match.param.cmpi ge %steps, %some : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A matmul with up to 4 columns.
  transform.named_sequence private @is_slim(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}, %large: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %size = transform.match.structured %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%matmul: !transform.any_op):
      %columns = transform.match.structured.dim %matmul[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %columns : !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %least = transform.param.constant 1 : i64 -> !transform.param<i64>
    %most = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %size, %least : !transform.param<i64>
    transform.match.param.cmpi le %size, %most : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A matmul with up to 12 rows, and columns of a known number.
  transform.named_sequence private @is_flat(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}, %large: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %size, %width = transform.match.structured %op : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%matmul: !transform.any_op):
      %rows = transform.match.structured.dim %matmul[0] : (!transform.any_op) -> !transform.param<i64>
      %columns = transform.match.structured.dim %matmul[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %rows, %columns : !transform.param<i64>, !transform.param<i64>
    }
    %least = transform.param.constant 1 : i64 -> !transform.param<i64>
    %most = transform.param.constant 12 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %size, %least : !transform.param<i64>
    transform.match.param.cmpi le %size, %most : !transform.param<i64>
    transform.match.param.cmpi ge %width, %least : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A matmul with a reduction of up to 32 steps, and columns of a known number.
  transform.named_sequence private @is_short(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}, %large: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %size, %width = transform.match.structured %op : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%matmul: !transform.any_op):
      %steps = transform.match.structured.dim %matmul[2] : (!transform.any_op) -> !transform.param<i64>
      %columns = transform.match.structured.dim %matmul[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %steps, %columns : !transform.param<i64>, !transform.param<i64>
    }
    %least = transform.param.constant 1 : i64 -> !transform.param<i64>
    %most = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %size, %least : !transform.param<i64>
    transform.match.param.cmpi le %size, %most : !transform.param<i64>
    transform.match.param.cmpi ge %width, %least : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A matmul with up to 576 columns and a reduction of up to 512 steps, both known, in tiles of at least 64 columns.
  transform.named_sequence private @is_small(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}, %large: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %width, %steps = transform.match.structured %op : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%matmul: !transform.any_op):
      %columns = transform.match.structured.dim %matmul[1] : (!transform.any_op) -> !transform.param<i64>
      %length = transform.match.structured.dim %matmul[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %columns, %length : !transform.param<i64>, !transform.param<i64>
    }
    %least = transform.param.constant 1 : i64 -> !transform.param<i64>
    %most_columns = transform.param.constant 576 : i64 -> !transform.param<i64>
    %most_steps = transform.param.constant 512 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %width, %least : !transform.param<i64>
    transform.match.param.cmpi le %width, %most_columns : !transform.param<i64>
    transform.match.param.cmpi ge %steps, %least : !transform.param<i64>
    transform.match.param.cmpi le %steps, %most_steps : !transform.param<i64>
    %least_tile = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %tile_n, %least_tile : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A matmul whose left-hand side, of so many rows and steps, is read for at least 256 columns.
  transform.named_sequence private @is_large(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}, %large: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %height, %width, %steps = transform.match.structured %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%matmul: !transform.any_op):
      %rows = transform.match.structured.dim %matmul[0] : (!transform.any_op) -> !transform.param<i64>
      %columns = transform.match.structured.dim %matmul[1] : (!transform.any_op) -> !transform.param<i64>
      %length = transform.match.structured.dim %matmul[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %rows, %columns, %length
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %few = transform.param.constant 256 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %height, %large : !transform.param<i64>
    transform.match.param.cmpi ge %steps, %large : !transform.param<i64>
    transform.match.param.cmpi ge %width, %few : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A matmul whose right-hand side is a constant.
  transform.named_sequence private @is_constant(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}, %large: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %same = transform.include @has_constant_weights failures(propagate) (%op, %tile_n)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // Any matmul.
  transform.named_sequence private @is_matmul(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}, %large: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // A matmul with a dynamic number of rows.
  transform.named_sequence private @has_unknown_height(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %height = transform.match.structured %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%matmul: !transform.any_op):
      %size = transform.match.structured.dim %matmul[0] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size : !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %zero = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi lt %height, %zero : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }

  // In parts/packed.mlir:
  transform.named_sequence private @hoist_constant_panels(!transform.any_op {transform.readonly},
    !transform.any_op {transform.readonly}, !transform.any_op {transform.consumed}) -> !transform.any_op
  transform.named_sequence private @has_constant_weights(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}) -> !transform.any_op
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
  transform.named_sequence private @split_off_rest(!transform.any_op {transform.readonly},
    !transform.any_op {transform.readonly}, !transform.any_op {transform.consumed})
    -> (!transform.any_op, !transform.any_op)
  transform.named_sequence private @vectorize_rows(!transform.any_op {transform.consumed},
    !transform.param<i64> {transform.readonly})
  transform.named_sequence private @cut_into_steps(!transform.any_op {transform.readonly})
  transform.named_sequence private @vectorize_tiles(!transform.any_op {transform.readonly})
  transform.named_sequence private @keep_tile_in_registers(!transform.any_op {transform.readonly})
  transform.named_sequence private @lower_contractions(!transform.any_op {transform.readonly})
}

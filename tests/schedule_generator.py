"""Random schedules over small payloads: typed templates of transform ops, drawn from a seed.

Operands are drawn from all handles that were defined before, dead ones too; that is what makes a good
part of the schedules fail.
"""

import random
import re

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

# O, V, P are handles to ops, values and parameters; results stand left of "=". Types are filled in. A
# template may have regions; names that it defines inside start with "%in".
TEMPLATES = r"""
O = structured.match ops{["linalg.matmul"]} in O
O = structured.match ops{["linalg.add"]} in O
O = structured.match ops{["linalg.fill"]} in O
O = structured.match ops{["linalg.generic"]} in O
O = structured.match ops{["func.func"]} in O
O = structured.match ops{["scf.for"]} in O
O = structured.match ops{["memref.load"]} in O
O = structured.match ops{["tensor.pad"]} in O
O = structured.match ops{["tensor.empty", "tensor.extract_slice"]} in O
O = structured.match interface{LinalgOp} in O
O = structured.match interface{TilingInterface} in O
O = structured.match interface{LoopLikeInterface} in O
O, O, O = structured.tile_using_for O tile_sizes [4, 2]
O, O = structured.tile_using_for O tile_sizes [0, 4]
O, O = structured.tile_using_for O tile_sizes [4]
O, O = structured.tile_using_forall O tile_sizes [4]
O, O = structured.tile_using_forall O num_threads [2]
O, O = structured.fuse_into_containing_op O into O
O, O = structured.fuse O tile_sizes [4] interchange [0]
O = structured.generalize O
O = structured.specialize O
O = structured.interchange O iterator_interchange = [1, 0]
O, O, O, O = structured.tile_reduction_using_for O by tile_sizes = [0, 4]
O, O, O, O = structured.tile_reduction_using_forall O by num_threads = [0, 4]
O, O, O, O = structured.split_reduction O {split_factor = 4, insert_split_dimension = 0}
structured.vectorize O
O = structured.vectorize_children_and_apply_patterns O
O, O, O = structured.pad O {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1, 2], copy_back_op = "none"}
O = structured.hoist_pad O by 1 loops
O = structured.promote O {operands_to_promote = [0]}
O = structured.decompose O
O = structured.convert_to_loops O
O = structured.rewrite_in_destination_passing_style O
V, O = structured.bufferize_to_allocation O
O = structured.hoist_redundant_vector_transfers O
O = structured.hoist_redundant_vector_broadcasts O
O = structured.split O after 4 {dimension = 0}
P, P, P = structured.multitile_sizes O {dimension = 0, target_size = 4}
O = structured.transpose_matmul O
O = structured.flatten_elementwise O
O, O = structured.gpu.map_copy_to_threads O total_num_threads = 4 desired_bit_alignment = 32
O = structured.insert_slice_to_copy O
structured.eliminate_empty_tensors O
O = structured.linalg_copy_to_memref O
O = structured.pack O packed_sizes = [2, 2, 2]
O = structured.pack_greedily O matmul_packed_sizes = [2, 2, 2] matmul_inner_dims_order = [0, 1, 2]
loop.unroll O {factor = 2}
loop.unroll_and_jam O {factor = 2}
O, O = loop.outline O {func_name = "outlined"}
O = loop.coalesce O
O = loop.fuse_sibling O into O
loop.promote_if_one_iteration O
O = loop.forall_to_for O
O = loop.forall_to_parallel O
O = loop.parallel_for_to_nested_fors O
loop.hoist_loop_invariant_subsets O
apply_licm to O
apply_cse to O
apply_dce to O
apply_patterns to O { transform.apply_patterns.canonicalization }
apply_patterns to O { transform.apply_patterns.linalg.tiling_canonicalization transform.apply_patterns.scf.for_loop_canonicalization }
apply_patterns to O { transform.apply_patterns.tensor.fold_tensor_empty transform.apply_patterns.vector.cast_away_vector_leading_one_dim }
O = apply_registered_pass "canonicalize" to O
O = apply_registered_pass "cse" to O
O = get_parent_op O
O = get_parent_op O {op_name = "func.func"}
O = get_parent_op O {isolated_from_above}
O = get_parent_op O {deduplicate}
O = get_producer_of_operand O[0]
O = get_consumers_of_result O[0]
V = get_operand O[0]
V = get_operand O[all]
V = get_result O[0]
V = get_result O[all]
O = get_defining_op V
P = get_type V
O = merge_handles O, O
O = merge_handles deduplicate O, O
O = merge_handles O, O, O
O, O = split_handle O
O, O = split_handle O {overflow_result = 1}
O = select "scf.for" in O
O = replicate num(O) O
P = num_associations O
P = param.constant 4 : i64 -> P
annotate O "transform.mark"
annotate O "transform.mark" = P
O = cast O
print O {name = "p"}
verify O
debug.emit_remark_at O, "here"
debug.emit_param_as_remark P
foreach O { ^bb0(%in: !transform.any_op): transform.annotate %in "transform.each" : !transform.any_op }
foreach O { ^bb0(%in: !transform.any_op): %in2 = transform.get_parent_op %in : (!transform.any_op) -> !transform.any_op }
foreach O { ^bb0(%in: !transform.any_op): transform.loop.unroll %in {factor = 2} : !transform.any_op }
foreach O { ^bb0(%in: !transform.any_op): %in2, %in3 = transform.structured.tile_using_for %in tile_sizes [2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op) }
sequence O failures(suppress) { ^bb0(%in: !transform.any_op): transform.apply_cse to %in : !transform.any_op }
sequence O failures(propagate) { ^bb0(%in: !transform.any_op): %in2 = transform.structured.generalize %in : (!transform.any_op) -> !transform.any_op }
alternatives O { ^bb0(%in: !transform.any_op): transform.loop.unroll %in {factor = 2} : !transform.any_op }, { ^bb0(%in: !transform.any_op): }
include @read O
include @consume O
O = include @give O
O = foreach_match in O @is_add -> @mark
O = collect_matching @is_add in O
"""

SEQUENCES = """
  transform.named_sequence private @read(%a: !transform.any_op {transform.readonly}) {
    %b = transform.structured.match interface{LinalgOp} in %a : (!transform.any_op) -> !transform.any_op
    %c = transform.structured.generalize %b : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @consume(%a: !transform.any_op {transform.consumed}) {
    transform.loop.unroll %a {factor = 2} : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @give(%a: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b = transform.get_parent_op %a : (!transform.any_op) -> !transform.any_op
    transform.yield %b : !transform.any_op
  }
  transform.named_sequence private @is_add(%a: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %a ["linalg.add", "memref.load"] : !transform.any_op
    transform.yield %a : !transform.any_op
  }
  transform.named_sequence private @mark(%a: !transform.any_op {transform.readonly}) {
    transform.annotate %a "transform.matched" : !transform.any_op
    transform.yield
  }
"""

TYPES = {"O": "!transform.any_op", "V": "!transform.any_value", "P": "!transform.param<i64>"}
_SLOT = re.compile(r"(?<![\w%!.\"{@])[OVP](?![\w\"])")


def _signature(body, operands, results):
    """Return the types at the end of an op, as its syntax wants them."""
    name = body.split()[0]
    takes, gives = [TYPES[k] for k in operands], [TYPES[k] for k in results]
    if name == "replicate":
        return f" : {takes[0]}, {takes[1]}"
    if name == "include":
        return f" : ({', '.join(takes)}) -> ({', '.join(gives)})"
    if name in ("structured.split", "structured.bufferize_to_allocation"):
        return f" : {takes[0]}"
    if name == "cast":
        return f" : {takes[0]} to {gives[0]}"
    if name == "structured.multitile_sizes":
        return f" : ({takes[0]}) -> {gives[0]}"
    if name in ("merge_handles", "param.constant"):
        return "" if name == "param.constant" else f" : {takes[0]}"
    if name == "annotate":
        return f" : {', '.join(takes)}"
    if not results:
        return f" : {', '.join(takes)}"
    return (
        f" : ({', '.join(takes)}) -> ({', '.join(gives)})"
        if len(gives) > 1
        else f" : ({', '.join(takes)}) -> {gives[0]}"
    )


class Generator:
    """Draws schedules; ``templates`` are those that the toolchain takes."""

    def __init__(self, seed, templates):
        self._draw = random.Random(seed)
        self._templates = templates

    def schedule(self, extra=""):
        """Return (text lines of the body, handles in order) of a schedule of 2 to 9 ops."""
        handles = [("%root", "O")]
        lines = []
        for _ in range(self._draw.randint(1, 3)):
            self._add(
                lines,
                handles,
                self._draw.choice([t for t in self._templates if "match " in t and "foreach" not in t]),
                ["%root"],
            )
        for _ in range(self._draw.randint(1, 6)):
            self._add(lines, handles, self._draw.choice(self._templates), None)
        return lines, handles

    def _add(self, lines, handles, template, operands):
        line, results = fill(template, handles, self._draw, len(lines), operands)
        if line is not None:
            lines.append(line)
            handles.extend(results)


def fill(template, handles, draw, number, operands=None):
    """Return (text of an op, [(name, kind) of its results]); (None, []) where no handle fits."""
    left, equals, body = (
        template.rpartition(" = ") if re.match(r"[OVP](, [OVP])* = ", template) else ("", "", template)
    )
    if equals:
        left, body = template.split(" = ", 1)
    kinds = [k for k in left.split(", ") if k]
    names = [f"%r{number}_{i}" for i in range(len(kinds))]
    used = []
    head, brace, region = body.partition(" { ")
    is_region = brace and ("^bb0" in region or "transform.apply_patterns" in region)
    text = head if is_region else body

    def slot(match):
        kind = match[0]
        pool = [n for n, k in handles if k == kind]
        if kind == "O" and len(pool) > 1 and draw.random() < 0.9:
            pool = pool[1:]
        if not pool:
            raise LookupError
        # Recent handles more often: chains are deeper that way.
        name = (
            operands[0] if operands and kind == "O" else draw.choice(pool[-3:] if draw.random() < 0.5 else pool)
        )
        used.append(kind)
        return name

    if body.startswith("param.constant"):
        return f"%r{number}_0 = transform.param.constant 4 : i64 -> !transform.param<i64>", [(names[0], "P")]
    try:
        if body.startswith("include"):
            callee = body.split()[1]
            text = f"include {callee} failures(propagate) ({_SLOT.sub(slot, body.split()[2])})"
        else:
            text = _SLOT.sub(slot, text)
    except LookupError:
        return None, []
    kind_name = body.split()[0]
    if is_region and kind_name == "alternatives":
        line = f"transform.{text} : {TYPES['O']} {{ {region}"
    elif is_region and kind_name == "sequence":
        operand, _, mode = text.removeprefix("sequence ").partition(" ")
        line = f"transform.sequence {operand} : {TYPES['O']} {mode} {{ {region}"
    elif is_region and kind_name == "foreach":
        line = f"transform.{text} : {TYPES['O']} {{ {region}"
    elif is_region:
        line = f"transform.{text} {{ {region} : {TYPES['O']}"
    else:
        line = f"transform.{text}{_signature(body, used, kinds)}"
    prefix = f"{', '.join(names)} = " if names else ""
    return prefix + line, list(zip(names, kinds, strict=True))


def templates():
    """Return every template."""
    return [line for line in TEMPLATES.strip().splitlines() if line]


def module(lines):
    """Return the schedule with this body."""
    body = "\n".join(f"    {line}" for line in lines)
    return f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: !transform.any_op {{transform.consumed}}) {{
{body}
    transform.yield
  }}
{SEQUENCES}}}
"""

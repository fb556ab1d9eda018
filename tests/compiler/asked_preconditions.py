"""Run in a separate process: every condition on payload ops, held against what the interpreter does.

Prints as JSON, for each pair of a transform op and a payload op on which a condition is not met, what it says and
whether the interpreter failed; and for pairs on which the interpreter failed without a word, their names.
"""

import json

from lhkit.compiler.interpreter.preconditions import unmet_preconditions
from lhkit.compiler.ir.bindings import interpreter, ir, new_context
from lhkit.compiler.ir.parsing import from_flattened, walk

ANY = "!transform.any_op"
VALUES = "padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32]"
# Steps for %t; @ stands for !transform.any_op.
STEPS = [
    "%a, %b = transform.structured.fuse %t tile_sizes [4] : (@) -> (@, @)",
    "%a, %b = transform.structured.tile_using_for %t tile_sizes [4] : (@) -> (@, @)",
    "%a, %b:4 = transform.structured.tile_using_for %t tile_sizes [4, 4, 4, 4] : (@) -> (@, @, @, @, @)",
    "%a, %b = transform.structured.tile_using_forall %t tile_sizes [4] : (@) -> (@, @)",
    "%a, %b = transform.structured.tile_using_forall %t num_threads [4] : (@) -> (@, @)",
    "%a, %b, %c, %d = transform.structured.tile_reduction_using_for %t by tile_sizes = [0, 0, 4] : (@) -> (@, @, @, @)",
    "%a, %b, %c, %d = transform.structured.tile_reduction_using_for %t by tile_sizes = [0, 4] : (@) -> (@, @, @, @)",
    '%l = transform.structured.match ops{["scf.forall"]} in %r : (@) -> @\n'
    "%a, %b = transform.structured.fuse_into_containing_op %t into %l : (@, @) -> (@, @)",
    f"%a, %b, %c = transform.structured.pad %t pad_to_multiple_of [3] {{{VALUES}, padding_dimensions = [0]}} : (@) -> (@, @, @)",
    f"%a, %b, %c = transform.structured.pad %t pad_to_multiple_of [3] {{{VALUES.replace('f32', 'f64')}, padding_dimensions = [0]}} : (@) -> (@, @, @)",
    "%a = transform.structured.pack %t packed_sizes = [2, 2, 2] : (@) -> @",
    "%a = transform.structured.pack %t packed_sizes = [2, 2] : (@) -> @",
    "%a = transform.structured.promote %t : (@) -> @",
    "%a = transform.structured.generalize %t : (@) -> @",
    "%a = transform.structured.interchange %t iterator_interchange = [1, 0] : (@) -> @",
    "%a = transform.structured.interchange %t iterator_interchange = [1, 0, 2] : (@) -> @",
    "%a, %b, %c, %d = transform.structured.split_reduction %t {split_factor = 2, insert_split_dimension = 2} : (@) -> (@, @, @, @)",
    "%a = transform.structured.transpose_matmul %t : (@) -> @",
    "%a, %b = transform.structured.convert_conv2d_to_img2col %t : (@) -> (@, @)",
    "%a = transform.structured.transpose_conv2d %t : (@) -> @",
    "transform.structured.vectorize %t : @",
    "transform.structured.vectorize %t vector_sizes [8, 8, 8] : @",
    "transform.structured.vectorize %t vector_sizes [8, 8] : @",
    *[f"%a = transform.get_producer_of_operand %t[{n}] : (@) -> @" for n in (0, 1, 2, 5)],
    *[f"%a = transform.get_consumers_of_result %t[{n}] : (@) -> @" for n in (0, 1)],
    *[f"%a = transform.get_result %t[{n}] : (@) -> !transform.any_value" for n in (0, 1)],
    "transform.loop.unroll %t {factor = 2} : @",
    '%f = transform.cast %t : @ to !transform.op<"scf.for">\n'
    '%a, %b = transform.loop.peel %f : (!transform.op<"scf.for">) -> (@, @)',
    "%a = transform.loop.coalesce %t : (@) -> @",
]
IDENTITY = "affine_map<(d0, d1) -> (d0, d1)>"


def ops_on(kind, extents):
    """Return a function with linalg ops, loops and others, on tensors or memrefs of these extents."""
    is_tensor = kind == "tensor"
    matrix, row = f"{kind}<{extents}xf32>", f"{kind}<{extents.partition('x')[0]}xf32>"
    to, to_row = (f" -> {matrix}", f" -> {row}") if is_tensor else ("", "")

    def named(name):
        return f"%{name} = " if is_tensor else ""

    def value(name):
        return f"%{name}" if is_tensor else "%c"

    body = "^bb0(%i: f32, %o: f32):\n%v = arith.addf %i, %o : f32\nlinalg.yield %v : f32\n}"
    maps = f"{{indexing_maps = [{IDENTITY}, {IDENTITY}], iterator_types = ['parallel', 'parallel']}}"
    sums = maps.replace("-> (d0, d1)>]", "-> (d0)>]").replace("'parallel']", "'reduction']")
    results = f" -> ({row}, {matrix})" if is_tensor else ""
    returned = f" %s, %e : {row}, {matrix}" if is_tensor else ""
    return f"""func.func @f(%a: {matrix}, %b: {matrix}, %c: {matrix}, %row: {row}){results} {{
%z = arith.constant 0.0 : f32
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c64 = arith.constant 64 : index
{named("f")}linalg.fill ins(%z : f32) outs(%c : {matrix}){to}
{named("m")}linalg.matmul ins(%a, %b : {matrix}, {matrix}) outs({value("f")} : {matrix}){to}
{named("g")}linalg.generic {maps} ins({value("m")} : {matrix}) outs(%c : {matrix}) {{
{body}{to}
{named("s")}linalg.generic {sums} ins({value("g")} : {matrix}) outs(%row : {row}) {{
{body}{to_row}
{named("e")}linalg.exp ins({value("g")} : {matrix}) outs(%c : {matrix}){to}
scf.for %i = %c0 to %c64 step %c1 {{
%q = arith.addi %i, %i : index
}}
scf.forall (%i) in (4) {{
%k = arith.addi %i, %i : index
}}
return{returned}
}}""".replace("'", '"')


OTHERS = """func.func @others(%i: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x8xf32>, %o: tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32> {
%r = linalg.conv_2d_nhwc_hwcf ins(%i, %k : tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) outs(%o : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
%x = tensor.extract_slice %r[0, 0, 0, 0] [1, 1, 6, 8] [1, 1, 1, 1] : tensor<1x6x6x8xf32> to tensor<6x8xf32>
%z = arith.constant 0.0 : f32
%p = tensor.pad %x low[0, 0] high[2, 0] {
^bb0(%a: index, %b: index):
tensor.yield %z : f32
} : tensor<6x8xf32> to tensor<8x8xf32>
%s = linalg.softmax dimension(1) ins(%p : tensor<8x8xf32>) outs(%p : tensor<8x8xf32>) -> tensor<8x8xf32>
return %r : tensor<1x6x6x8xf32>
}"""
PAYLOADS = {
    "tensors": ops_on("tensor", "16x16"),
    "memrefs": ops_on("memref", "16x16"),
    "dynamic tensors": ops_on("tensor", "?x?"),
    "others": OTHERS,
}


def ask(text, number, step):
    """Return (name of the payload op, what is said to be unmet, what the interpreter says, None if it succeeds)."""
    payload = ir.Module.parse(text)
    target = list(walk(payload.operation))[number]
    target.attributes["here"] = ir.UnitAttr.get()
    schedule = ir.Module.parse(
        "module attributes {transform.with_named_sequence} {\n"
        f"transform.named_sequence @main(%r: {ANY} {{transform.consumed}}) {{\n"
        f"%t = transform.structured.match attributes {{here}} in %r : ({ANY}) -> {ANY}\n"
        f"{step.replace('@', ANY)}\ntransform.yield\n}}\n}}"
    )
    sequence = schedule.body.operations[0]
    op = list(sequence.regions[0].blocks[0].operations)[-2].operation
    name, said = target.name, [d.message for d in unmet_preconditions(op, [target])]
    try:
        interpreter.apply_named_sequence(payload.operation, sequence, schedule)
    except ValueError as error:
        return name, said, " ".join(d.message for d in from_flattened(str(error)))
    try:
        payload.operation.verify()
    except ir.MLIRError as error:
        return name, said, str(error)
    return name, said, None


def main():
    unmet, silent = [], []
    with new_context(), ir.Location.unknown():
        for kind, text in PAYLOADS.items():
            ops = [op.name for op in walk(ir.Module.parse(text).operation)]
            for number in (n for n, name in enumerate(ops) if not name.endswith(".yield")):
                for step in STEPS:
                    name, said, failed = ask(text, number, step)
                    if said:
                        unmet.append([kind, name, said[0], failed is not None])
                    elif failed == "":
                        silent.append([kind, name, step])
    print(json.dumps({"unmet": unmet, "silent": silent}))


main()

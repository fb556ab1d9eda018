"""Schedules that work and the same ones with a defect, for tests of repairs: what was meant is known."""

from dataclasses import dataclass

ANY = "!transform.any_op"
FOR = '!transform.op<"scf.for">'
SUM = '!transform.op<"linalg.add">'
ONE, TWO, THREE, FOUR, FIVE = (f"({ANY}) -> ({', '.join([ANY] * n)})" for n in range(1, 6))
T = "tensor<64x64xf32>"
PAYLOAD = f"""
func.func @layers(%a: {T}, %w: {T}, %v: {T}, %b: {T}) -> {T} {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : {T}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {T}) -> {T}
  %first = linalg.matmul ins(%a, %w : {T}, {T}) outs(%init : {T}) -> {T}
  %sum = linalg.add ins(%first, %b : {T}, {T}) outs(%empty : {T}) -> {T}
  %second = linalg.matmul ins(%sum, %v : {T}, {T}) outs(%init : {T}) -> {T}
  %ones = linalg.fill ins(%one : f32) outs(%empty : {T}) -> {T}
  %max = linalg.max ins(%second, %ones : {T}, {T}) outs(%empty : {T}) -> {T}
  return %max : {T}
}}
"""
HEAD = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
"""
END = "    transform.yield\n  }\n"


@dataclass(frozen=True)
class Planted:
    """A schedule that works, and the same with a defect.

    Attributes:
        kind: What sort of failure it is.
        right: Steps that work, or a whole text.
        wrong: The same with the defect.
        more: Other sequences of the module.
    """

    kind: str
    right: str
    wrong: str
    more: str = ""

    @property
    def right_text(self):
        """The schedule that works."""
        return text_of(self.right, self.more)

    @property
    def wrong_text(self):
        """The one with the defect."""
        return text_of(self.wrong, self.more)


def text_of(steps, more=""):
    """Return a schedule with these steps and other sequences behind them."""
    if steps.startswith("module"):
        return steps
    lines = "".join(f"    {line}\n" for line in steps.splitlines())
    return f"{HEAD}{lines}{END}{more}}}\n"


def match(name, op, root="%root", type_=ANY):
    return f'{name} = transform.structured.match ops{{["{op}"]}} in {root} : ({ANY}) -> {type_}\n'


def tile(names, handle, sizes, types):
    return f"{names} = transform.structured.tile_using_for {handle} tile_sizes {sizes} : {types}\n"


def tile_forall(names, handle, sizes):
    return f"{names} = transform.structured.tile_using_forall {handle} tile_sizes {sizes} : {TWO}\n"


def fuse(names, handle, loop):
    types = f"({ANY}, {ANY}) -> ({ANY}, {ANY})"
    return f"{names} = transform.structured.fuse_into_containing_op {handle} into {loop} : {types}\n"


def vectorize(handle, type_=ANY):
    return f"transform.structured.vectorize {handle} : {type_}\n"


def unroll(handle):
    return f"transform.loop.unroll {handle} {{factor = 2}} : {ANY}\n"


def generalize(name, handle):
    return f"{name} = transform.structured.generalize {handle} : ({ANY}) -> {ANY}\n"


def split(names, handle, types):
    return f"{names} = transform.split_handle {handle} : {types}\n"


def peel(names, handle, type_=FOR):
    return f"{names} = transform.loop.peel {handle} : ({type_}) -> ({ANY}, {ANY})\n"


def cast(name, handle, type_):
    return f"{name} = transform.cast {handle} : {ANY} to {type_}\n"


def parent(name, handle, attributes):
    return f"{name} = transform.get_parent_op {handle} {{{attributes}}} : {ONE}\n"


def include(name, sequence, handle):
    return f"{name} = transform.include {sequence} failures(propagate) ({handle}) : {ONE}\n"


def bufferize(name):
    attributes = "{bufferize_function_boundaries = true}"
    return f"{name} = transform.bufferization.one_shot_bufferize %root {attributes} : {ONE}\n"


def pack(name, handle):
    types = f'({ANY}) -> (!transform.op<"linalg.generic">)'
    return f"{name} = transform.structured.pack {handle} packed_sizes = [8, 8, 8] : {types}\n"


def each(handle, body):
    return f"transform.foreach {handle} : {ANY} {{\n^bb0(%each: {ANY}):\n  {body}}}\n"


MATMULS = match("%ms", "linalg.matmul") + split("%m, %n", "%ms", TWO)
ADD, MAX = match("%add", "linalg.add"), match("%max", "linalg.max")
FILLS = match("%fills", "linalg.fill")
FUNCTION = match("%f", "func.func")
CSE = f"transform.apply_cse to %f : {ANY}\n"
TILE_M = tile("%t, %l:3", "%m", "[8, 8, 4]", FOUR)
TILE_ADD = tile("%t, %l:2", "%add", "[4, 16]", THREE)
TILE_MAX = tile_forall("%t, %l", "%max", "[16, 16]")
ONES = f"%ones = transform.get_producer_of_operand %max[1] : {ONE}\n"


def sequence(body, *, mark=" {transform.consumed}", gives="%in"):
    """Return a sequence @inner that is given %x and returns a handle."""
    head = f"  transform.named_sequence @inner(%x: {ANY}{mark}) -> {ANY} {{\n"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{head}{lines}    transform.yield {gives} : {ANY}\n  }}\n"


INNER_TILE = tile("%in, %ls:2", "%x", "[8, 8]", THREE)
INNER = sequence(INNER_TILE)
INCLUDED = MATMULS + include("%in", "@inner", "%n")
LOOKING = sequence(
    f"%p = transform.get_producer_of_operand %x[0] : {ONE}\n", mark=" {transform.readonly}", gives="%p"
)
LOOKED_AT = ADD + include("%in", "@inner", "%add") + tile("%t, %l", "%add", "[8]", TWO)
INTERCHANGE = f"%i = transform.structured.interchange %g iterator_interchange = [1, 0] : ({ANY}) -> {ANY}\n"
MERGED = "transform.merge_handles"

PLANTED = {
    "direct: the tiled op is in the loop": Planted(
        "direct", MATMULS + TILE_M + vectorize("%t"), MATMULS + TILE_M + vectorize("%m")
    ),
    "direct: tiled once more": Planted(
        "direct",
        MAX + tile("%o, %k:2", "%max", "[32, 32]", THREE) + tile("%t, %l:2", "%o", "[8, 8]", THREE),
        MAX + tile("%o, %k:2", "%max", "[32, 32]", THREE) + tile("%t, %l:2", "%max", "[8, 8]", THREE),
    ),
    "direct: generalized before": Planted(
        "direct",
        MATMULS + generalize("%g", "%m") + tile("%t, %l:2", "%g", "[8, 8]", THREE),
        MATMULS + generalize("%g", "%m") + tile("%t, %l:2", "%m", "[8, 8]", THREE),
    ),
    "direct: two steps later": Planted(
        "direct",
        MAX + generalize("%g", "%max") + INTERCHANGE + tile("%t, %l", "%i", "[8]", TWO),
        MAX + generalize("%g", "%max") + INTERCHANGE + tile("%t, %l", "%max", "[8]", TWO),
    ),
    "direct: the producer of a tiled op": Planted(
        "direct",
        MAX + ONES + TILE_MAX + fuse("%g, %l2", "%ones", "%l"),
        MAX + TILE_MAX + ONES + fuse("%g, %l2", "%ones", "%l"),
    ),
    "direct: a peeled loop": Planted(
        "direct",
        MAX
        + tile("%t, %l:2", "%max", "[16, 12]", THREE)
        + cast("%c", "%l#1", FOR)
        + peel("%k, %r", "%c")
        + unroll("%k"),
        MAX
        + tile("%t, %l:2", "%max", "[16, 12]", THREE)
        + cast("%c", "%l#1", FOR)
        + peel("%k, %r", "%c")
        + unroll("%l#1"),
    ),
    "direct: consumed in an included sequence": Planted(
        "direct", INCLUDED + vectorize("%in"), INCLUDED + vectorize("%n"), INNER
    ),
    "direct: the module was bufferized": Planted(
        "direct",
        bufferize("%b") + match("%m", "linalg.add", "%b") + tile("%t, %l:2", "%m", "[8, 8]", THREE),
        bufferize("%b") + match("%m", "linalg.add", "%root") + tile("%t, %l:2", "%m", "[8, 8]", THREE),
    ),
    "direct: every op of a handle was tiled": Planted(
        "direct",
        match("%ms", "linalg.matmul")
        + tile("%ts, %l", "%ms", "[8]", TWO)
        + tile("%u, %k", "%ts", "[0, 8]", TWO),
        match("%ms", "linalg.matmul")
        + tile("%ts, %l", "%ms", "[8]", TWO)
        + tile("%u, %k", "%ms", "[0, 8]", TWO),
    ),
    "alias: a cast of the tiled op": Planted(
        "alias",
        ADD + cast("%same", "%add", SUM) + TILE_ADD + vectorize("%t"),
        ADD + cast("%same", "%add", SUM) + TILE_ADD + vectorize("%same", SUM),
    ),
    "alias: matched a second time": Planted(
        "alias",
        ADD + match("%other", "linalg.add") + TILE_ADD + vectorize("%t"),
        ADD + match("%other", "linalg.add") + TILE_ADD + vectorize("%other"),
    ),
    "alias: the consumer found from its producer": Planted(
        "alias",
        MATMULS
        + ADD
        + f"%after = transform.get_consumers_of_result %m[0] : {ONE}\n"
        + generalize("%g", "%add")
        + tile("%t, %l", "%g", "[8]", TWO),
        MATMULS
        + ADD
        + f"%after = transform.get_consumers_of_result %m[0] : {ONE}\n"
        + generalize("%g", "%add")
        + tile("%t, %l", "%after", "[8]", TWO),
    ),
    "nested: vectorized in an unrolled loop": Planted(
        "nested",
        ADD + TILE_ADD + unroll("%l#1") + match("%again", "linalg.add") + vectorize("%again"),
        ADD + TILE_ADD + unroll("%l#1") + vectorize("%t"),
    ),
    "nested: tiled in an unrolled loop": Planted(
        "nested",
        ADD + TILE_ADD + unroll("%l#1") + match("%again", "linalg.add") + tile("%u, %k", "%again", "[2]", TWO),
        ADD + TILE_ADD + unroll("%l#1") + tile("%u, %k", "%t", "[2]", TWO),
    ),
    "nested: what a bufferized module held": Planted(
        "nested",
        ADD + bufferize("%b") + match("%again", "linalg.add", "%b") + tile("%t, %l", "%again", "[8]", TWO),
        ADD + bufferize("%b") + tile("%t, %l", "%add", "[8]", TWO),
    ),
    "repeated: two names of one op": Planted(
        "repeated",
        ADD
        + MAX
        + f"%both = {MERGED} deduplicate %add, %max, %add : {ANY}\n"
        + tile("%t, %l", "%both", "[8]", TWO),
        ADD + MAX + f"%both = {MERGED} %add, %max, %add : {ANY}\n" + tile("%t, %l", "%both", "[8]", TWO),
    ),
    "repeated: the loop around two ops": Planted(
        "repeated",
        MAX
        + MATMULS
        + tile("%t, %l", "%max", "[16]", TWO)
        + fuse("%g, %l2", "%n", "%l")
        + f"%both = {MERGED} %t, %g : {ANY}\n"
        + parent("%p", "%both", 'deduplicate, op_name = "scf.for"')
        + unroll("%p"),
        MAX
        + MATMULS
        + tile("%t, %l", "%max", "[16]", TWO)
        + fuse("%g, %l2", "%n", "%l")
        + f"%both = {MERGED} %t, %g : {ANY}\n"
        + parent("%p", "%both", 'op_name = "scf.for"')
        + unroll("%p"),
    ),
    "zero match: a letter too many": Planted(
        "zero match",
        match("%ms", "linalg.matmul") + tile("%t, %l", "%ms", "[8]", TWO),
        match("%ms", "linalg.matmull") + tile("%t, %l", "%ms", "[8]", TWO),
    ),
    "zero match: what the steps after it need": Planted(
        "zero match",
        MATMULS + TILE_M,
        MATMULS.replace("linalg.matmul", "linalg.mat_mul") + TILE_M,
    ),
    "zero match: generalized before": Planted(
        "zero match",
        match("%ms", "linalg.matmul")
        + generalize("%g", "%ms")
        + match("%again", "linalg.generic")
        + tile("%t, %l", "%again", "[8]", TWO),
        match("%ms", "linalg.matmul")
        + generalize("%g", "%ms")
        + match("%again", "linalg.matmul")
        + tile("%t, %l", "%again", "[8]", TWO),
    ),
    "zero match: a longer name": Planted(
        "zero match",
        match("%max", "linalg.max") + TILE_MAX,
        match("%max", "linalg.maximum") + TILE_MAX,
    ),
    "zero match: another dialect": Planted(
        "zero match",
        match("%add", "linalg.add") + TILE_ADD,
        match("%add", "tensor.add") + TILE_ADD,
    ),
    "zero match: looked for in the wrong place": Planted(
        "zero match",
        MAX + TILE_MAX + match("%ms", "linalg.matmul") + tile("%u, %k", "%ms", "[8]", TWO),
        MAX + TILE_MAX + match("%ms", "linalg.matmul", "%l") + tile("%u, %k", "%ms", "[8]", TWO),
    ),
    "count: split into too many": Planted(
        "count",
        match("%ms", "linalg.matmul") + split("%m, %n", "%ms", TWO) + TILE_M,
        match("%ms", "linalg.matmul") + split("%m, %n, %o", "%ms", THREE) + TILE_M,
    ),
    "count: split into too few": Planted(
        "count",
        FILLS + split("%first, %second", "%fills", TWO) + tile("%t, %l", "%first", "[8]", TWO),
        FILLS + split("%first", "%fills", ONE) + tile("%t, %l", "%first", "[8]", TWO),
    ),
    "count: one op at a time": Planted(
        "count",
        match("%ms", "linalg.matmul") + each("%ms", pack("%p", "%each")),
        match("%ms", "linalg.matmul") + pack("%p", "%ms"),
    ),
    "sizes: more than loops": Planted(
        "sizes",
        MAX + tile("%t, %l:2", "%max", "[8, 4]", THREE),
        MAX + tile("%t, %l:3", "%max", "[8, 4, 2]", FOUR),
    ),
    "sizes: a negative one": Planted(
        "sizes",
        MAX + tile("%t, %l:2", "%max", "[8, 4]", THREE),
        MAX + tile("%t, %l:2", "%max", "[8, -4]", THREE),
    ),
    "wrong op: a tiled op is not a loop": Planted(
        "wrong op",
        MAX + tile("%t, %l", "%max", "[8]", TWO) + unroll("%l"),
        MAX + tile("%t, %l", "%max", "[8]", TWO) + unroll("%t"),
    ),
    "wrong op: a loop is not vectorized": Planted(
        "wrong op",
        ADD + tile("%t, %l:2", "%add", "[4, 8]", THREE) + vectorize("%t"),
        ADD + tile("%t, %l:2", "%add", "[4, 8]", THREE) + vectorize("%l#1"),
    ),
    "wrong op: results taken in the wrong order": Planted(
        "wrong op",
        MAX + tile("%t, %l", "%max", "[8]", TWO) + tile("%u, %k", "%t", "[0, 8]", TWO),
        MAX + tile("%l, %t", "%max", "[8]", TWO) + tile("%u, %k", "%t", "[0, 8]", TWO),
    ),
    "wrong op: the parent is another loop": Planted(
        "wrong op",
        MAX + tile("%t, %l", "%max", "[8]", TWO) + parent("%p", "%t", 'op_name = "scf.for"') + unroll("%p"),
        MAX + tile("%t, %l", "%max", "[8]", TWO) + parent("%p", "%t", 'op_name = "scf.forall"') + unroll("%p"),
    ),
    "type: cast to another op": Planted(
        "type",
        ADD + cast("%same", "%add", SUM) + vectorize("%same", SUM),
        ADD + cast("%same", "%add", SUM.replace("add", "sub")) + vectorize("%same", SUM.replace("add", "sub")),
    ),
    "type: a loop behind any_op": Planted(
        "type",
        MAX + tile("%t, %l", "%max", "[24]", TWO) + cast("%c", "%l", FOR) + peel("%k, %r", "%c"),
        MAX + tile("%t, %l", "%max", "[24]", TWO) + peel("%k, %r", "%l", ANY),
    ),
    "type: written otherwise than defined": Planted(
        "type",
        ADD + tile("%t, %l", "%add", "[8]", TWO),
        ADD + tile("%t, %l", "%add", "[8]", TWO.replace(ANY, SUM, 1)),
    ),
    "order: fused before its consumer": Planted(
        "order",
        MAX + ADD + MATMULS + TILE_MAX + fuse("%g, %l2", "%n", "%l") + fuse("%h, %l3", "%add", "%l2"),
        MAX + ADD + MATMULS + TILE_MAX + fuse("%h, %l2", "%add", "%l") + fuse("%g, %l3", "%n", "%l2"),
    ),
    "mark: an argument that is consumed": Planted(
        "mark",
        text_of(INCLUDED + vectorize("%in"), INNER),
        text_of(INCLUDED + vectorize("%in"), INNER.replace("consumed", "readonly")),
    ),
    "mark: an argument without a mark": Planted(
        "mark",
        text_of(INCLUDED + vectorize("%in"), INNER),
        text_of(INCLUDED + vectorize("%in"), INNER.replace(" {transform.consumed}", "")),
    ),
    "mark: an argument that is only read": Planted(
        "mark",
        text_of(LOOKED_AT, LOOKING),
        text_of(LOOKED_AT, LOOKING.replace(" {transform.readonly}", "")),
    ),
    "text: a name that nothing defines": Planted(
        "text",
        MATMULS + tile("%tiled, %loop", "%m", "[8]", TWO) + unroll("%loop"),
        MATMULS + tile("%tiled, %loop", "%m", "[8]", TWO) + unroll("%lop"),
    ),
    "text: more loops than names": Planted(
        "text",
        MATMULS + TILE_M + unroll("%l#1"),
        MATMULS + TILE_M.replace("%l:3", "%l:2") + unroll("%l#1"),
    ),
    "text: no terminator": Planted("text", MAX + TILE_MAX, HEAD.rstrip() + f"\n{MAX}{TILE_MAX}  }}\n}}\n"),
    "text: a module without its mark": Planted(
        "text",
        MAX + TILE_MAX,
        HEAD.replace("attributes {transform.with_named_sequence} ", "") + MAX + TILE_MAX + END + "}\n",
    ),
}

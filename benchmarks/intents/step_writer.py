"""Short spellings for what base schedules are written from: steps, sequences, and functions of linalg ops."""

from __future__ import annotations

ANY = "!transform.any_op"


def names(written: str) -> list[str]:
    """Return the names in ``"%a, %b"``."""
    return [name for name in written.replace(",", " ").split() if name]


def types(count: int) -> str:
    """Return the types of that many handles, as operands are written."""
    return f"({', '.join([ANY] * count)})"


def results(written: str) -> str:
    """Return the types of the results with these names; ``%l:2`` counts twice."""
    count = sum(int(name.partition(":")[2] or 1) for name in names(written))
    return ANY if count == 1 else types(count)


def match(name: str, op: str, scope: str = "%root") -> str:
    """Find the ops of a name; ``LinalgOp`` and ``LoopLikeInterface`` are interfaces."""
    what = f'ops{{["{op}"]}}' if "." in op else f"interface{{{op}}}"
    return f"{name} = transform.structured.match {what} in {scope} : ({ANY}) -> {ANY}"


def producer(name: str, handle: str, operand: int) -> str:
    """Find the op that makes an operand."""
    return f"{name} = transform.get_producer_of_operand {handle}[{operand}] : ({ANY}) -> {ANY}"


def parent(name: str, handle: str, op: str) -> str:
    """Find the op of a name around another."""
    attributes = f'{{op_name = "{op}", deduplicate}}'
    return f"{name} = transform.get_parent_op {handle} {attributes} : ({ANY}) -> {ANY}"


def split(written: str, handle: str) -> str:
    """Give each op of a handle a handle of its own."""
    return f"{written} = transform.split_handle {handle} : ({ANY}) -> {results(written)}"


def merge(name: str, handles: str) -> str:
    """Put several handles into one."""
    return f"{name} = transform.merge_handles {handles} : {ANY}"


def tile(written: str, handle: str, sizes: str, more: str = "") -> str:
    """Tile by ``scf.for``."""
    step = f"{written} = transform.structured.tile_using_for {handle} tile_sizes {sizes}{more}"
    return f"{step} : ({ANY}) -> {results(written)}"


def tile_forall(written: str, handle: str, sizes: str) -> str:
    """Tile by ``scf.forall``."""
    step = f"{written} = transform.structured.tile_using_forall {handle} tile_sizes {sizes}"
    return f"{step} : ({ANY}) -> {results(written)}"


def fuse(written: str, handle: str, loop: str) -> str:
    """Move a producer into a loop."""
    step = f"{written} = transform.structured.fuse_into_containing_op {handle} into {loop}"
    return f"{step} : {types(2)} -> {results(written)}"


def tile_and_fuse(written: str, handle: str, sizes: str) -> str:
    """Tile an op together with its producers."""
    step = f"{written} = transform.structured.fuse {handle} tile_sizes {sizes}"
    return f"{step} : ({ANY}) -> {results(written)}"


def vectorize(handle: str, more: str = "") -> str:
    """Vectorize the ops of a handle."""
    return f"transform.structured.vectorize {handle}{more} : {ANY}"


def vectorize_all(name: str, function: str) -> str:
    """Vectorize what a function holds."""
    step = f"{name} = transform.structured.vectorize_children_and_apply_patterns {function}"
    return f"{step} : ({ANY}) -> {ANY}"


def generalize(name: str, handle: str) -> str:
    """Turn named ops into generic ones."""
    return f"{name} = transform.structured.generalize {handle} : ({ANY}) -> {ANY}"


def interchange(name: str, handle: str, order: str) -> str:
    """Put the dimensions of a generic op into another order."""
    step = f"{name} = transform.structured.interchange {handle} iterator_interchange = {order}"
    return f"{step} : ({ANY}) -> {ANY}"


def patterns(function: str, *listed: str) -> str:
    """Apply patterns to a function."""
    lines = "".join(f"\n  transform.apply_patterns.{pattern}" for pattern in listed or ("canonicalization",))
    return f"transform.apply_patterns to {function} {{{lines}\n}} : {ANY}"


def cse(function: str) -> str:
    """Make equal ops one."""
    return f"transform.apply_cse to {function} : {ANY}"


def unroll(loop: str, factor: int) -> str:
    """Unroll a loop."""
    return f"transform.loop.unroll {loop} {{factor = {factor}}} : {ANY}"


def apply_pass(name: str, handle: str, pass_name: str) -> str:
    """Run a pass on an op."""
    return f'{name} = transform.apply_registered_pass "{pass_name}" to {handle} : ({ANY}) -> {ANY}'


def foreach(handle: str, *body: str) -> str:
    """Run steps for each op of a handle, as ``%each``."""
    lines = "\n".join(body).replace("\n", "\n  ")
    return f"transform.foreach {handle} : {ANY} {{\n^bb0(%each: {ANY}):\n  {lines}\n}}"


def include(written: str, sequence: str, handles: str) -> str:
    """Call a named sequence."""
    count = len(names(handles))
    head = f"{written} = " if written else ""
    given = results(written) if written else "()"
    return f"{head}transform.include @{sequence} failures(propagate) ({handles}) : {types(count)} -> {given}"


def bufferize(name: str) -> str:
    """Turn the tensors of the whole payload into buffers."""
    options = "layout{IdentityLayoutMap} %root {bufferize_function_boundaries = true}"
    return f"{name} = transform.bufferization.one_shot_bufferize {options} : ({ANY}) -> {ANY}"


def pad(written: str, handle: str, multiples: str, values: int = 3) -> str:
    """Pad the operands of an op up to multiples."""
    zeros, dimensions = ", ".join(["0.0 : f32"] * values), ", ".join(map(str, range(multiples.count(",") + 1)))
    entries = f'padding_values = [{zeros}], padding_dimensions = [{dimensions}], copy_back_op = "none"'
    step = f"{written} = transform.structured.pad {handle} pad_to_multiple_of {multiples} {{{entries}}}"
    return f"{step} : ({ANY}) -> {results(written)}"


def sequence(name: str, arguments: str, *body: str, gives: str = "") -> str:
    """Return a named sequence; an argument with a ``!`` behind it is consumed."""
    listed = []
    for argument in names(arguments):
        effect = "consumed" if argument.endswith("!") else "readonly"
        listed.append(f"{argument.rstrip('!')}: {ANY} {{transform.{effect}}}")
    returned = f" -> {types(len(names(gives)))}" if gives else ""
    last = f"transform.yield {gives} : {', '.join([ANY] * len(names(gives)))}" if gives else "transform.yield"
    lines = "\n".join([*body, last]).replace("\n", "\n    ")
    return f"  transform.named_sequence @{name}({', '.join(listed)}){returned} {{\n    {lines}\n  }}\n"


def schedule(*body: str, more: str = "") -> str:
    """Return a schedule of these steps, with other sequences behind it."""
    main = sequence("__transform_main", "%root!", *body)
    return f"module attributes {{transform.with_named_sequence}} {{\n{main}{more}}}\n"


class PayloadWriter:
    """A function of linalg ops on f32, written op by op."""

    def __init__(self, **arguments: tuple[int, ...]) -> None:
        """Take the extents of each argument."""
        self.types = {name: self._tensor(shape) for name, shape in arguments.items()}
        self._arguments = ", ".join(f"%{name}: {type_}" for name, type_ in self.types.items())
        self._lines = ["%zero = arith.constant 0.0 : f32"]

    @staticmethod
    def _tensor(shape: tuple[int, ...]) -> str:
        return f"tensor<{'x'.join(map(str, (*shape, 'f32')))}>"

    def fill(self, name: str, shape: tuple[int, ...], value: str = "0.0") -> PayloadWriter:
        """Add a tensor filled with a number."""
        type_ = self.types[name] = self._tensor(shape)
        self._lines += [
            f"%{name}_value = arith.constant {value} : f32",
            f"%{name}_empty = tensor.empty() : {type_}",
            f"%{name} = linalg.fill ins(%{name}_value : f32) outs(%{name}_empty : {type_}) -> {type_}",
        ]
        return self

    def op(self, name: str, op: str, operands: str, into: str, end: str | None = None) -> PayloadWriter:
        """Add an op that writes into another value."""
        values, type_ = operands.split(), self.types[into]
        self.types[name] = type_
        given = f"{', '.join(f'%{v}' for v in values)} : {', '.join(self.types[v] for v in values)}"
        end = f"-> {type_}" if end is None else end
        self._lines.append(f"%{name} = linalg.{op} ins({given}) outs(%{into} : {type_}) {end}")
        return self

    def new(
        self, name: str, op: str, operands: str, shape: tuple[int, ...] | None = None, end: str | None = None
    ) -> PayloadWriter:
        """Add an op that writes into a new tensor, of the first operand's type unless told."""
        type_ = self._tensor(shape) if shape else self.types[operands.split(maxsplit=1)[0]]
        self.types[f"{name}_empty"] = type_
        self._lines.append(f"%{name}_empty = tensor.empty() : {type_}")
        return self.op(name, op, operands, f"{name}_empty", end)

    def product(self, name: str, op: str, operands: str, shape: tuple[int, ...]) -> PayloadWriter:
        """Add a contraction that starts from zeros."""
        return self.fill(f"{name}_init", shape).op(name, op, operands, f"{name}_init")

    def reduce(self, name: str, op: str, operand: str, shape: tuple[int, ...], dimension: int) -> PayloadWriter:
        """Add a reduction along a dimension that starts from zeros."""
        self.fill(f"{name}_init", shape)
        return self.op(name, f"reduce {{ arith.{op} }}", operand, f"{name}_init", f"dimensions = [{dimension}]")

    def text(self, result: str) -> str:
        """Return the function that returns a value."""
        type_ = self.types[result]
        lines = "\n  ".join([*self._lines, f"return %{result} : {type_}"])
        return f"func.func @payload({self._arguments}) -> {type_} {{\n  {lines}\n}}\n"

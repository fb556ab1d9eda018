"""Products of small matrices by dot products in vectors, as text of functions.

An instruction of AVX512-BF16, AVX512-VNNI or AVX-VNNI adds, in each number of 32 bits of a vector, the products
of a group of the left-hand side, the same for all lanes, and of a group of one column of the right-hand side.
For pairs of i16, one of AVX2 or AVX-512 gives the sums of products, and another adds them; both wrap around.
A CPU without the instruction for its groups extends their even and odd elements apart, so that what was
scheduled for another CPU is vector code here, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lhkit.compiler.lowering.dot_operands import DotProduct, place_text

# Vectors of columns that a tile in registers has.
_VECTORS = 2
# Steps of an iteration, where a product has as many times so many: pairs leave no time for counting.
_UNROLLED = 2
_FMA = "llvm.intr.fma"
_SIGN_BITS = -0x7F7F7F80  # 0x80808080


@dataclass(frozen=True)
class Instruction:
    """An instruction for dot products in vectors.

    Attributes:
        name: Of LLVM's intrinsic.
        lanes: Sums of 32 bits in a vector.
        registers: Vectors that code can name.
        total: Type of the sums.
        group: Type of a vector of elements.
        is_added: Whether it gives only the sums of the products, which another instruction adds.
        is_shifted: Whether the right-hand side has to be unsigned: 128 is added to it, and 128 times the sum of
            the left-hand side's row subtracted from the start.
        extension: What extends even and odd elements, for which there is no instruction, to those of group.
    """

    name: str
    lanes: int
    registers: int
    total: str
    group: str
    is_added: bool = False
    is_shifted: bool = False
    extension: str = ""

    @property
    def most_rows(self) -> int:
        """How many rows fit into the registers: sums, a group, columns, and where shifted 128."""
        others = (1 + _VECTORS) * (2 if self.extension else 1) + int(self.is_shifted)
        return (self.registers - others) // _VECTORS

    @property
    def sums(self) -> str:
        """The type of a vector of sums."""
        return f"vector<{self.lanes}x{self.total}>"

    def dot(self, result: str, before: str, unsigned: str, signed: str) -> str:
        """Return text that adds products to the sums of before; only integers differ in their operands."""
        if self.extension:
            plain = replace(self, extension="")
            even = plain.dot(f"{result}_half", before, f"{unsigned}_even", f"{signed}_even")
            return f"{even}\n{plain.dot(result, f'{result}_half', f'{unsigned}_odd', f'{signed}_odd')}"
        if self.name == _FMA:
            types = ", ".join([self.sums] * 3)
            return f"{result} = {_FMA}({signed}, {unsigned}, {before}) : ({types}) -> {self.sums}"
        if self.is_added:
            operands = f"({unsigned}, {signed}) : ({self.group}, {self.group}) -> {self.sums}"
            product = f'{result}_product = llvm.call_intrinsic "{self.name}"{operands}'
            return f"{product}\n{result} = arith.addi {before}, {result}_product : {self.sums}"
        operands = (
            f"({before}, {unsigned}, {signed}) : ({self.sums}, {self.group}, {self.group}) -> {self.sums}"
        )
        return f'{result} = llvm.call_intrinsic "{self.name}"{operands}'

    def elements(self, result: str, bits: str) -> str:
        """Return text that takes 32 bits in each lane for groups of elements, even and odd ones if extended."""
        whole = f"vector<{self.lanes}xi32>"
        if not self.extension:
            return f"{result} = llvm.bitcast {bits} : {whole} to {self.group}"
        if self.extension == "arith.extf":
            return f"""
              {result}_high = arith.shli {bits}, %sixteens : {whole}
              {result}_low = arith.andi {bits}, %high_halves : {whole}
              {result}_even = llvm.bitcast {result}_high : {whole} to {self.group}
              {result}_odd = llvm.bitcast {result}_low : {whole} to {self.group}"""
        shift = "arith.shrsi" if self.extension == "arith.extsi" else "arith.shrui"
        return f"""
          {result}_pairs = llvm.bitcast {bits} : {whole} to {self.group}
          {result}_eights = llvm.bitcast %eights : {whole} to {self.group}
          {result}_high = arith.shli {result}_pairs, {result}_eights : {self.group}
          {result}_even = {shift} {result}_high, {result}_eights : {self.group}
          {result}_odd = {shift} {result}_pairs, {result}_eights : {self.group}"""


def vector_dot_instruction(product: DotProduct, flags: frozenset[str]) -> Instruction | None:
    """Return the instruction of a CPU with these flags that computes a product; None where it has none."""
    if product.extension == "arith.extf" and "avx512_bf16" in flags:
        return Instruction("llvm.x86.avx512bf16.dpbf16ps.512", 16, 32, "f32", "vector<32xbf16>")
    if product.element == "i8" and product.extension == "arith.extsi":
        if "avx512_vnni" in flags:
            return Instruction("llvm.x86.avx512.vpdpbusd.512", 16, 32, "i32", "vector<64xi8>", is_shifted=True)
        if "avx_vnni" in flags:
            return Instruction("llvm.x86.avx512.vpdpbusd.256", 8, 16, "i32", "vector<32xi8>", is_shifted=True)
    extension = "" if product.element == "i16" else product.extension
    if product.extension == "arith.extf":
        if "avx512f" in flags:
            return Instruction(_FMA, 16, 32, "f32", "vector<16xf32>", extension=extension)
        if {"avx2", "fma"} <= flags:
            return Instruction(_FMA, 8, 16, "f32", "vector<8xf32>", extension=extension)
        return None
    if "avx512bw" in flags:
        wide = "llvm.x86.avx512.pmaddw.d.512"
        return Instruction(wide, 16, 32, "i32", "vector<32xi16>", is_added=True, extension=extension)
    if "avx2" in flags:
        narrow = "llvm.x86.avx2.pmadd.wd"
        return Instruction(narrow, 8, 16, "i32", "vector<16xi16>", is_added=True, extension=extension)
    return None


def vector_dot_function(name: str, product: DotProduct, instruction: Instruction) -> str:
    """Return the text of a function that computes a product in tiles that stay in registers."""
    lhs, rhs, result = product.types
    count = -(-product.rows // instruction.most_rows)
    ends = [product.rows * i // count for i in range(count + 1)]
    tiles = [
        _tile(product, instruction, range(first, end), column)
        for column in range(0, product.columns, _VECTORS * instruction.lanes)
        for first, end in itertools.pairwise(ends)
    ]
    return f"""
      func.func private @{name}(%a: {lhs}, %b: {rhs}, %c: {result}) {{
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %nothing = arith.constant 0 : i64
        %unrolled = arith.constant {_unrolled(product)} : index
        %a_step = arith.constant {4 * _unrolled(product)} : i64
        %steps = arith.constant {product.steps} : index
        %no_sum = arith.constant dense<0> : vector<{instruction.lanes}xi32>
        %signs = arith.constant dense<{_SIGN_BITS}> : vector<{instruction.lanes}xi32>
        %eights = arith.constant dense<{8 << 16 | 8}> : vector<{instruction.lanes}xi32>
        %sixteens = arith.constant dense<16> : vector<{instruction.lanes}xi32>
        %high_halves = arith.constant dense<-65536> : vector<{instruction.lanes}xi32>
        {instruction.elements("%all_128", "%signs") if instruction.is_shifted else ""}
        {place_text("a", lhs)} {place_text("b", rhs)} {place_text("c", result)}
        {" ".join(tiles)}
        return
      }}"""


def _tile(product: DotProduct, instruction: Instruction, rows: range, column: int) -> str:
    """Return text that computes so many rows of two vectors of columns."""
    lanes, sums = instruction.lanes, instruction.sums
    key = f"t{rows.start}_{column}"
    widths = [min(lanes, product.columns - first) for first in range(column, product.columns, lanes)][:_VECTORS]
    lines = [_mask(f"%{key}_mask{j}", lanes, width) for j, width in enumerate(widths) if width < lanes]
    starts: dict[str, str] = {}
    for r in rows:
        lines += _row_address(f"%{key}_a{r}", "a", r, 0)
        if instruction.is_shifted:
            lines += _row_sum(f"%{key}_a{r}", product.steps, instruction)
        for j, _ in enumerate(widths):
            lines += _row_address(f"%{key}_c{r}_{j}", "c", r, 4 * (column + lanes * j))
            start = f"%{key}_s{r}_{j}"
            loaded = _load(f"{start}_bits", f"%{key}_c{r}_{j}", lanes, _mask_name(key, j, widths, lanes))
            lines += [*([] if product.from_zeros else loaded)]
            bits = "%no_sum" if product.from_zeros else f"{start}_bits"
            if instruction.is_shifted:
                lines.append(f"{start} = arith.subi {bits}, %{key}_a{r}_all : {sums}")
            else:
                lines.append(f"{start} = llvm.bitcast {bits} : vector<{lanes}xi32> to {sums}")
            starts[f"%{key}_n{r}_{j}"] = start
    carried = {f"%{key}_k": "%nothing", f"%{key}_b0": f"%{key}_b_start"}
    carried |= {f"{name}_0": start for name, start in starts.items()}
    types = ["i64", "i64", *[sums] * len(carried)][: len(carried)]
    arguments = ", ".join(f"{a} = {b}" for a, b in carried.items())
    count = _unrolled(product)
    body = [line for u in range(count) for line in _step(instruction, key, rows, widths, u)]
    given = ", ".join([f"%{key}_k_next", f"%{key}_b{count}", *(f"{a}_{count}" for a in starts)])
    lines += [
        *_sum(f"%{key}_b_start", "%b_at", 4 * column),
        f"%{key}:{len(carried)} = scf.for %{key}_i = %zero to %steps step %unrolled iter_args({arguments})",
        f"-> ({', '.join(types)}) {{",
        *body,
        f"%{key}_k_next = arith.addi %{key}_k, %a_step : i64",
        f"scf.yield {given} : {', '.join(types)}",
        "}",
    ]
    for number, (r, j) in enumerate((r, j) for r in rows for j, _ in enumerate(widths)):
        lines += _store(f"%{key}#{2 + number}", f"%{key}_c{r}_{j}", sums, _mask_name(key, j, widths, lanes))
    return "\n".join(lines)


def _unrolled(product: DotProduct) -> int:
    return 1 if product.steps % _UNROLLED else _UNROLLED


def _step(instruction: Instruction, key: str, rows: range, widths: list[int], u: int) -> Iterator[str]:
    """Give the lines of step u of an iteration: a group of each row and of each column."""
    lanes = instruction.lanes
    for j, _ in enumerate(widths):
        column = f"%{key}_v{u}_{j}"
        yield from _sum(f"{column}_at", f"%{key}_b{u}", 4 * lanes * j)
        yield from _load(f"{column}_bits", f"{column}_at", lanes, _mask_name(key, j, widths, lanes))
        bits = f"{column}_bits"
        if instruction.is_shifted:
            yield f"{column}_unsigned = arith.xori {bits}, %signs : vector<{lanes}xi32>"
            bits = f"{column}_unsigned"
        yield instruction.elements(column, bits)
    for r in rows:
        name = f"%{key}_g{u}_{r}"
        yield f"{name}_row = arith.addi %{key}_a{r}, %{key}_k : i64"
        yield from _sum(f"{name}_at", f"{name}_row", 4 * u)
        yield f"{name}_pointer = llvm.inttoptr {name}_at : i64 to !llvm.ptr"
        yield f"{name}_one = llvm.load {name}_pointer {{alignment = 1 : i64}} : !llvm.ptr -> i32"
        yield f"{name}_bits = vector.broadcast {name}_one : i32 to vector<{lanes}xi32>"
        yield instruction.elements(name, f"{name}_bits")
        for j, _ in enumerate(widths):
            total = f"%{key}_n{r}_{j}_"
            yield instruction.dot(f"{total}{u + 1}", f"{total}{u}", f"%{key}_v{u}_{j}", name)
    yield f"%{key}_b{u + 1} = arith.addi %{key}_b{u}, %b_row : i64"


def _row_sum(address: str, steps: int, instruction: Instruction) -> list[str]:
    """Return lines that give 128 times the sum of a row of the left-hand side, in all lanes."""
    lanes, sums = instruction.lanes, instruction.sums
    whole, rest = divmod(steps, lanes)
    part = f"{address}_part"
    loop = [
        f"{address}_whole = arith.constant {whole} : index",
        f"{part}s:2 = scf.for {part}_i = %zero to {address}_whole step %one",
        f"iter_args({part}_at = {address}, {part} = %no_sum) -> (i64, {sums}) {{",
        *_load(f"{part}_bits", f"{part}_at", lanes, ""),
        instruction.elements(f"{part}_groups", f"{part}_bits"),
        instruction.dot(f"{part}_next", part, "%all_128", f"{part}_groups"),
        *_sum(f"{part}_next_at", f"{part}_at", 4 * lanes),
        f"scf.yield {part}_next_at, {part}_next : i64, {sums}",
        "}",
    ]
    last = [
        _mask(f"{part}_mask", lanes, rest),
        *_load(f"{part}_last", f"{part}s#0", lanes, f"{part}_mask"),
        instruction.elements(f"{part}_last_groups", f"{part}_last"),
        instruction.dot(f"{part}_sum", f"{part}s#1", "%all_128", f"{part}_last_groups"),
    ]
    return [
        *loop,
        *(last if rest else []),
        f"{address}_one = vector.reduction <add>, {f'{part}_sum' if rest else f'{part}s#1'} : {sums} into i32",
        f"{address}_all = vector.broadcast {address}_one : i32 to {sums}",
    ]


def _sum(result: str, value: str, constant: int) -> list[str]:
    return [
        f"{result}_by = arith.constant {constant} : i64",
        f"{result} = arith.addi {value}, {result}_by : i64",
    ]


def _row_address(result: str, key: str, row: int, offset: int) -> list[str]:
    """Return lines that give the address so many bytes behind the start of a row."""
    return [
        f"{result}_row = arith.constant {row} : i64",
        f"{result}_rows = arith.muli %{key}_row, {result}_row : i64",
        f"{result}_start = arith.addi %{key}_at, {result}_rows : i64",
        *_sum(result, f"{result}_start", offset),
    ]


def _mask_name(key: str, j: int, widths: list[int], lanes: int) -> str:
    return f"%{key}_mask{j}" if widths[j] < lanes else ""


def _mask(name: str, lanes: int, width: int) -> str:
    bits = ", ".join("true" if i < width else "false" for i in range(lanes))
    return f"{name} = arith.constant dense<[{bits}]> : vector<{lanes}xi1>"


def _load(result: str, address: str, lanes: int, mask: str) -> list[str]:
    """Return lines that load a vector, or what the mask has of it."""
    type_ = f"vector<{lanes}xi32>"
    pointer = f"{result}_pointer = llvm.inttoptr {address} : i64 to !llvm.ptr"
    if not mask:
        return [
            pointer,
            f"{result} = llvm.load {result}_pointer {{alignment = 1 : i64}} : !llvm.ptr -> {type_}",
        ]
    operands = f"{result}_pointer, {mask}, %no_sum {{alignment = 1 : i32}}"
    return [
        pointer,
        f"{result} = llvm.intr.masked.load {operands} : (!llvm.ptr, vector<{lanes}xi1>, {type_}) -> {type_}",
    ]


def _store(value: str, address: str, type_: str, mask: str) -> list[str]:
    """Return lines that store a vector, or what the mask has of it."""
    pointer = f"{address}_pointer = llvm.inttoptr {address} : i64 to !llvm.ptr"
    if not mask:
        return [pointer, f"llvm.store {value}, {address}_pointer {{alignment = 1 : i64}} : {type_}, !llvm.ptr"]
    lanes = type_[len("vector<") :].split("x", maxsplit=1)[0]
    operands = f"{value}, {address}_pointer, {mask} {{alignment = 1 : i32}}"
    return [pointer, f"llvm.intr.masked.store {operands} : {type_}, vector<{lanes}xi1> into !llvm.ptr"]

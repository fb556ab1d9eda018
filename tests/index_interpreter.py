"""Runs a payload on arrays that hold, as elements, where they come from: what each execution of an op touches.

Every new value is an array of its own linear indices. Slices, casts and loops hand on these arrays as NumPy does,
so what a structured op is given says by itself which elements of which value it is.
"""

import itertools

import numpy as np

from lhkit.compiler.ir.bindings import host_module, ir, new_context
from lhkit.compiler.ir.extents import affine_values, operand_groups, outputs_of, static_shape
from lhkit.compiler.ir.parsing import walk

ARITHMETIC = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.divsi": lambda a, b: a // b,
    "arith.ceildivsi": lambda a, b: -(-a // b),
}


def touched(text, function, shapes):
    """Return (op's number, values of its loops, [elements of each operand's whole value]) for each execution."""
    with new_context():
        module = ir.Module.parse(text)
        inside = ("linalg.yield", "linalg.index")
        ops = [o for o in walk(module.operation) if o.name.startswith("linalg.") and o.name not in inside]
        machine = Machine({op: number for number, op in enumerate(ops)})
        for op in module.body.operations:
            if op.operation.name == "func.func" and op.name.value == function:
                block = op.regions[0].blocks[0]
                for argument, shape in zip(block.arguments, shapes, strict=True):
                    machine.values[argument] = np.arange(int(np.prod(shape))).reshape(shape)
                machine.block(block, ())
        return machine.found


class Machine:
    def __init__(self, numbers):
        self.values, self.found, self.numbers = {}, [], numbers

    def block(self, block, loops):
        for each in block.operations:
            result = self.run(each.operation, loops)
            if each.operation.name in ("scf.yield", "func.return", "scf.forall.in_parallel"):
                return result
            for value, given in zip(each.operation.results, result, strict=True):
                self.values[value] = given
        return []

    def run(self, op, loops):
        operands = [self.values[o] for o in op.operands]
        if op.name.startswith("linalg."):
            return self.structured(op, operands, loops)
        name = op.name.replace(".", "_")
        if op.name in ARITHMETIC:
            return [ARITHMETIC[op.name](*operands)]
        return getattr(self, name)(op, operands, loops)

    def structured(self, op, operands, loops):
        maps = [m.value for m in host_module("dialects.linalg").get_indexing_maps(op)]
        extents = {}
        for affine_map, array in zip(maps, operands, strict=True):
            for expression, n in zip(affine_map.results, np.shape(array), strict=True):
                if isinstance(expression, ir.AffineDimExpr):
                    extents[ir.AffineDimExpr(expression).position] = n
        points = list(itertools.product(*(range(extents[d]) for d in range(maps[0].n_dims))))
        sets = []
        for affine_map, array in zip(maps, operands, strict=True):
            if len(affine_map.results):
                sets.append({int(array[tuple(affine_values(affine_map, p))]) for p in points} - {-1})
        self.found.append((self.numbers[op], loops, sets))
        return [self.values[o] for o in outputs_of(op)] if len(op.results) else []

    def arith_constant(self, op, _operands, _loops):
        attribute = op.attributes["value"]
        return [int(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else 0]

    def affine_apply(self, op, operands, _loops):
        return affine_values(ir.AffineMapAttr(op.attributes["map"]).value, operands)

    def affine_min(self, op, operands, loops):
        return [min(self.affine_apply(op, operands, loops))]

    def affine_max(self, op, operands, loops):
        return [max(self.affine_apply(op, operands, loops))]

    def tensor_dim(self, _op, operands, _loops):
        return [operands[0].shape[operands[1]]]

    def tensor_cast(self, _op, operands, _loops):
        return operands

    def tensor_empty(self, op, operands, _loops):
        sizes = iter(operands)
        shape = [next(sizes) if n is None else n for n in static_shape(op.results[0].type)]
        return [np.arange(int(np.prod(shape))).reshape(shape)]

    def bufferization_alloc_tensor(self, op, operands, loops):
        return self.tensor_empty(op, operands, loops)

    def mixed(self, op, attribute, group):
        sizes = iter(group)
        marker = ir.ShapedType.get_dynamic_size()
        return [
            self.values[next(sizes)] if n == marker else int(n)
            for n in ir.DenseI64ArrayAttr(op.attributes[attribute])
        ]

    def tensor_extract_slice(self, op, operands, _loops):
        _, offsets, sizes, strides = operand_groups(op)
        offsets = self.mixed(op, "static_offsets", offsets)
        sizes = self.mixed(op, "static_sizes", sizes)
        strides = self.mixed(op, "static_strides", strides)
        window = tuple(slice(o, o + s * n, s) for o, n, s in zip(offsets, sizes, strides, strict=True))
        taken = operands[0][window]
        wanted = len(static_shape(op.results[0].type))
        kept = [n for n in taken.shape if n != 1 or len(taken.shape) == wanted]
        assert taken.shape == tuple(sizes), "a slice within its source"
        return [taken if taken.ndim == wanted else taken.reshape(kept)]

    def tensor_pad(self, op, operands, _loops):
        _, low, high = operand_groups(op)
        widths = zip(self.mixed(op, "static_low", low), self.mixed(op, "static_high", high), strict=True)
        return [np.pad(operands[0], list(widths), constant_values=-1)]

    def tensor_insert_slice(self, _op, operands, _loops):
        return [operands[1]]

    def scf_for(self, op, operands, loops):
        block = op.regions[0].blocks[0]
        carried = operands[3:]
        for i in range(*operands[:3]):
            self.values[block.arguments[0]] = i
            for argument, value in zip(list(block.arguments)[1:], carried, strict=True):
                self.values[argument] = value
            carried = self.block(block, (*loops, i))
        return carried

    def scf_yield(self, _op, operands, _loops):
        return operands

    def scf_forall(self, op, _operands, loops):
        groups = operand_groups(op)
        mixed = ("staticLowerBound", "staticUpperBound", "staticStep")
        bounds = [self.mixed(op, m, g) for m, g in zip(mixed, groups, strict=False)]
        block = op.regions[0].blocks[0]
        shared = [self.values[v] for v in groups[3]]
        for point in itertools.product(*(range(*b) for b in zip(*bounds, strict=True))):
            for argument, value in zip(block.arguments, [*point, *shared], strict=True):
                self.values[argument] = value
            self.block(block, (*loops, *point))
        return shared

    def scf_forall_in_parallel(self, _op, _operands, _loops):
        return []

    def func_return(self, _op, operands, _loops):
        return operands

"""The memory of a kernel: the program that decides about it, and a run that is counted."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.lowering.destination_style import KERNEL_NAME
from lhkit.compiler.lowering.pipeline import Progress, ignore_progress, write_out_loops
from lhkit.compiler.machine.compiled_kernel import Recipe, build_kernel, lowered_module
from lhkit.compiler.memory.heap_ledger import HeapLedger
from lhkit.compiler.memory.memory_slice import memory_program
from lhkit.model.errors import usage_error
from lhkit.model.memory_footprint import HeapCount
from lhkit.model.memory_program import MemoryProgram


def scheduled_memory(recipe: Recipe, progress: Progress = ignore_progress) -> MemoryProgram:
    """Return what a payload does with memory as its schedule leaves it, before anything else is done with it.

    Raises:
        UsageError: It computes on tensors, which are no memory yet.
    """
    with new_context():
        module, _ = lowered_module(recipe, "scheduled", progress)
        for op in walk(module.operation):
            if any(isinstance(r.type, ir.RankedTensorType) for r in op.results):
                raise usage_error(
                    f"{op.name} gives a tensor, and tensors are no memory yet",
                    "Bufferize in the schedule (transform.bufferization.one_shot_bufferize), or compile the"
                    " payload and ask the kernel: kernel.footprint().",
                )
        write_out_loops(module, recipe.sources)
        return memory_program(module, recipe.function, recipe.sources)


def kernel_memory(
    recipe: Recipe,
    arguments: list[Any] | None = None,
    results: list[Any] | None = None,
    progress: Progress = ignore_progress,
) -> tuple[MemoryProgram, HeapCount | None]:
    """Return what a kernel does with memory and, if there are arguments, what a call with them asks for.

    The kernel that is counted is made of the same IR as any other and thrown away: counting costs those
    that run otherwise nothing.

    Args:
        recipe: What decides the kernel.
        arguments: As `CompiledKernel.prepare` takes them.
        results: As `CompiledKernel.prepare` takes them.
        progress: Is told of each stage.
    """
    if arguments is None or results is None:
        with new_context():
            module, _ = lowered_module(recipe, "loops", progress)
            return memory_program(module, KERNEL_NAME, recipe.sources), None
    programs: list[MemoryProgram] = []
    ledger = HeapLedger()
    kernel = build_kernel(
        recipe,
        progress,
        look=lambda module: programs.append(memory_program(module, KERNEL_NAME, recipe.sources)),
        symbols=ledger.addresses,
    )
    call = kernel.prepare(arguments, results)
    call()
    return programs[0], ledger.count()

"""Many variants of one schedule on one payload, without paying for each what all have in common."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace

from lhkit.compiler.interpreter.application import apply_prepared, prepare_application
from lhkit.compiler.ir.bindings import new_context
from lhkit.compiler.ir.schedule_modules import set_knobs
from lhkit.compiler.machine.compiled_kernel import CompiledKernel, Recipe, kernel_of, unscheduled
from lhkit.model.knob import KnobValue

# Contexts keep every type and attribute that they ever saw.
_MOST_VARIANTS = 200

# Told of what comes next, ``compile`` or ``call``, and of the hash of the program. Each note wakes the client.
Stage = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class BuiltVariant:
    """A variant on its way to machine code.

    Attributes:
        ir_sha256: Hash of the scheduled payload; variants with the same one are the same program.
        kernel: The kernel, or None for a program that was known before.
        apply_ns: Time it took to apply the schedule.
    """

    ir_sha256: str
    kernel: CompiledKernel | None
    apply_ns: int


class VariantBuilder:
    """Compiles variants, all in one context that is renewed now and then.

    The schedule is parsed once; only the values of its knobs change.

    Args:
        recipe: Payload and schedule; the values of knobs in it do not matter.
    """

    def __init__(self, recipe: Recipe) -> None:
        if recipe.application is None:
            raise ValueError("variants are of a schedule")
        self._recipe, self._application = recipe, recipe.application
        self._left = 0

    def build(self, knobs: Mapping[str, KnobValue], known: Container[str], stage: Stage) -> BuiltVariant:
        """Apply the schedule with these values, and compile what comes out unless it is known.

        Args:
            knobs: A value for every knob.
            known: Hashes of programs that need not be compiled again.
            stage: Told what is being done.

        Raises:
            PayloadError, ScheduleError: A stage fails; the failure names stage, op and place.
        """
        if self._left == 0:
            self._renew()
        self._left -= 1
        try:
            with self._context:
                return self._build(knobs, known, stage)
        except BaseException:
            self._left = 0  # what a failure leaves behind is nobody's business any more
            raise

    def _renew(self) -> None:
        self._context = new_context()
        with self._context:
            self._prepared = prepare_application(replace(self._application, knobs={}))
        self._left = _MOST_VARIANTS

    def _build(self, knobs: Mapping[str, KnobValue], known: Container[str], stage: Stage) -> BuiltVariant:
        started = time.perf_counter_ns()
        recipe = replace(self._recipe, application=replace(self._application, knobs=knobs))
        module, function = unscheduled(recipe)
        set_knobs(self._prepared[0], knobs)
        apply_prepared(module, recipe.payload, replace(self._application, knobs=knobs), self._prepared)
        # One program on different numbers of threads is several.
        program = str(module) if recipe.threads == 1 else f"{module}\non {recipe.threads} threads"
        sha256 = hashlib.sha256(program.encode()).hexdigest()
        applied = time.perf_counter_ns()
        if sha256 in known:
            return BuiltVariant(sha256, None, applied - started)
        stage("compile", sha256)
        kernel = kernel_of(module, function, recipe)
        kernel.compile_ns = time.perf_counter_ns() - started
        return BuiltVariant(sha256, kernel, applied - started)

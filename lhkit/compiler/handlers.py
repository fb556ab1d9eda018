"""What the worker does for each request. State: compiled kernels, prepared timings and sweeps, nothing else."""

from __future__ import annotations

import dataclasses
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from lhkit.compiler.extension.own_op_registry import generation, known_ops, load_op_file
from lhkit.compiler.frontends.stablehlo_conversion import parsed_as_linalg
from lhkit.compiler.interpreter.application import (
    apply_by_pass,
    apply_schedule,
    op_counts,
    parse_payload,
)
from lhkit.compiler.interpreter.failed_texts import failed_texts
from lhkit.compiler.interpreter.rehearsal import try_last_step
from lhkit.compiler.interpreter.step_removal import apply_trial, removable_steps
from lhkit.compiler.interpreter.step_tracer import trace_application
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import HOST, new_context
from lhkit.compiler.ir.canonical_text import canonical_text
from lhkit.compiler.ir.capabilities import capabilities, elementwise_spelling
from lhkit.compiler.ir.context_pool import reused_context
from lhkit.compiler.ir.functions import functions_of
from lhkit.compiler.ir.ir_dump import outline_payload, outline_schedule, written_ops
from lhkit.compiler.ir.parsing import is_text_conversion, not_utf8, parse_module
from lhkit.compiler.ir.resource_constants import resource_uses
from lhkit.compiler.ir.schedule_modules import knobs_of, parse_schedule, sequences_of
from lhkit.compiler.ir.work_estimate import work_of
from lhkit.compiler.lowering.microkernel_calls import CompileC
from lhkit.compiler.lowering.pass_steps import PassWatch, checked_pipeline, run_pipeline, watching
from lhkit.compiler.lowering.pipeline import pipeline_sha256
from lhkit.compiler.lowering.target_attributes import find_openmp
from lhkit.compiler.machine.compiled_kernel import (
    CompiledKernel,
    Recipe,
    build_kernel,
    lowered_module,
    lowered_text,
)
from lhkit.compiler.machine.memref_arguments import PreparedCall
from lhkit.compiler.machine.python_references import call_function
from lhkit.compiler.machine.timing_runs import Timing
from lhkit.compiler.machine.variant_trials import VariantBench
from lhkit.compiler.memory.memory_slice import kernel_memory, scheduled_memory
from lhkit.compiler.parts.part_assembly import assemble_parts
from lhkit.compiler.parts.part_functions import cut_parts
from lhkit.compiler.tiling.tiled_op_reader import tilings_of
from lhkit.model.bindings_host import host_version
from lhkit.model.errors import LhkitError
from lhkit.model.instructions import CodeSamples, MachineCode
from lhkit.model.step_form import WrittenForm
from lhkit.worker import framing, kernel_requests, requests
from lhkit.worker.framing import Progress
from lhkit.worker.sandbox import explain_refusal, find_defences
from lhkit.worker.serving import Ask, Send
from lhkit.worker.shared_arrays import (
    INLINE_BYTES,
    Array,
    ArrayPlace,
    MappedFiles,
    aligned_empty,
    dtype_named,
    inline,
    lay_out,
)
from lhkit.worker.timing_conditions import timing_sign


def c_compiler(ask: Ask) -> CompileC:
    """Return a function that compiles C source by asking the client: this process may not start a compiler."""

    def compile_c(file: str, text: str, header: str, target: str) -> tuple[str | None, str]:
        compiled = ask(framing.CompileC(file, text, header, target))
        return compiled.library, compiled.output

    return compile_c


_MOST_KERNELS = 64
_MOST_SCHEDULES = 8
_ELIDED_ELEMENTS = 256


class Handlers:
    """Answers requests by type.

    Args:
        send: Takes the notes about progress that go out before the answer.
        ask: Has the client do what this process is not allowed to, and returns its answer.
    """

    def __init__(self, send: Send, ask: Ask) -> None:
        self._send, self._ask = send, ask
        self._files = MappedFiles()
        self._kernels: OrderedDict[int, CompiledKernel] = OrderedDict()
        self._timings: dict[int, Timing] = {}
        self._benches: dict[str, VariantBench] = {}
        self._held: tuple[PreparedCall | None, list[Array]] = (None, [])
        self._count = 0
        # The schedule that was loaded last: the first trace of it need not parse it.
        self._loaded: tuple[tuple[requests.Source, ...], Any] = ((), None)
        self._schedules: dict[tuple[int, requests.LoadSchedule], requests.ScheduleAnswer] = {}
        self._by_type: dict[type[requests.Request[Any]], Callable[[Any], requests.Answer]] = {
            requests.Ping: lambda _: requests.Answer(),
            requests.Describe: lambda _: _describe(),
            requests.AskSpelling: lambda _: requests.Value(elementwise_spelling()),
            requests.TryDefences: lambda _: requests.Value(find_defences()),
            requests.LoadOps: lambda r: requests.Value(tuple(load_op_file(r.file, r.text.decode()))),
            requests.ListOwnOps: lambda _: requests.Value(tuple(known_ops())),
            requests.MakeCatalogue: _make_catalogue,
            requests.LoadPayload: _load_payload,
            requests.LoadSchedule: self._load_schedule,
            requests.Apply: self._apply,
            requests.ApplyByPass: _apply_by_pass,
            requests.CutParts: cut_parts,
            requests.AssembleParts: assemble_parts,
            requests.ReadForms: _read_forms,
            requests.CountWork: lambda r: requests.Value(work_of(r.payload, r.function, r.shapes)),
            requests.ReadTilings: lambda r: requests.Value(tilings_of(r.payload)),
            requests.OutlineSchedule: lambda r: requests.Value(outline_schedule(r.application)),
            requests.OutlinePayload: lambda r: requests.Value(outline_payload(r.payload)),
            requests.TraceSchedule: self._trace,
            requests.FindRemovable: _find_removable,
            requests.FindFailures: _find_failures,
            requests.CountOps: lambda r: requests.Value(tuple(op_counts(r.payload, r.application, r.knobs))),
            requests.CanonicalText: lambda r: requests.Value(canonical_text(r.payload)),
            requests.TrySteps: self._try_steps,
            kernel_requests.Compile: self._compile,
            kernel_requests.Lower: lambda r: requests.Value(
                lowered_text(self._recipe(r.spec), r.stage, self._progress)
            ),
            kernel_requests.RunPasses: self._run_passes,
            kernel_requests.Disassemble: self._disassemble,
            kernel_requests.ReadMachineCode: self._read_machine_code,
            kernel_requests.SampleCode: self._sample_code,
            kernel_requests.ReadMemory: self._read_memory,
            kernel_requests.CallKernel: self._call,
            kernel_requests.CollectResults: self._collect,
            kernel_requests.RunReference: self._run_reference,
            kernel_requests.PrepareTiming: self._prepare_timing,
            kernel_requests.WarmUp: self._warm_up,
            kernel_requests.TimeRound: self._time_round,
            kernel_requests.ReleaseTiming: self._release_timing,
            kernel_requests.PrepareSweep: self._prepare_sweep,
            kernel_requests.TryVariant: self._try_variant,
            kernel_requests.CompileVariant: self._compile_variant,
            kernel_requests.DescribeVariants: self._describe_variants,
            kernel_requests.ReleaseSweep: self._release_sweep,
        }
        self.request_types = tuple(self._by_type)

    def release(self, kernels: Sequence[int]) -> None:
        """Forget kernels."""
        for kernel in kernels:
            self._kernels.pop(kernel, None)

    def answer(self, request: requests.Request[Any]) -> requests.Answer:
        """Return the answer to a request.

        Raises:
            LhkitError: The request fails.
        """
        try:
            return self._by_type[type(request)](request)
        except (RuntimeError, UnicodeDecodeError) as error:
            if is_text_conversion(error):
                raise not_utf8() from None
            raise

    def _progress(self, stage: str, module: Any) -> None:
        # The LLVM dialect is long and of no use as the last good IR; neither are large constants.
        text = None
        if stage != "jit":
            text = module.operation.get_asm(large_elements_limit=_ELIDED_ELEMENTS)
        self._send(Progress(stage, text))

    def _load_schedule(self, request: requests.LoadSchedule) -> requests.ScheduleAnswer:
        sources = request.sources
        key = (generation(), request)
        if key in self._schedules:
            return self._schedules[key]
        with reused_context():
            module = parse_schedule(sources)
            self._loaded = (sources, module)
            answer = requests.ScheduleAnswer(
                text=str(module) if sources[0].is_bytecode else None,
                functions=tuple(f.name for f in functions_of(module)),
                sequences=tuple(sequences_of(module)),
                knobs=tuple(knobs_of(module)),
                written=tuple(written_ops(sources[0])) if request.with_written_ops else (),
            )
        while len(self._schedules) >= _MOST_SCHEDULES:
            del self._schedules[next(iter(self._schedules))]
        self._schedules[key] = answer
        return answer

    def _trace(self, request: requests.TraceSchedule) -> requests.TraceAnswer:
        (sources, module), self._loaded = self._loaded, ((), None)
        ending = trace_application(
            request.payload,
            request.application,
            Path(request.journal),
            without_idle=request.without_idle,
            parsed=module if sources == request.application.sources else None,
        )
        failure = ending.failure and explain_refusal(ending.failure)
        return requests.TraceAnswer(failure=failure, failed_step=ending.failed_step)

    def _apply(self, request: requests.Apply) -> requests.AppliedPayload:
        with reused_context() as context:
            module = parse_payload(request.payload)
            before = str(module)
            self._progress("apply", module)
            if request.most_elements:
                apply_trial(context, module.operation, request.application, request.most_elements)
            else:
                apply_schedule(module, request.payload, request.application)
            is_changed = str(module) != before
            return requests.AppliedPayload(
                text=module.operation.get_asm(use_name_loc_as_prefix=True) if is_changed else None,
                functions=tuple(functions_of(module)),
                resources=tuple(resource_uses(module)),
            )

    def _compile(self, request: kernel_requests.Compile) -> kernel_requests.CompiledAnswer:
        kernel = build_kernel(self._recipe(request.spec), self._progress)
        self._count += 1
        self._kernels[self._count] = kernel
        while len(self._kernels) > _MOST_KERNELS:
            self._kernels.popitem(last=False)
        return kernel_requests.CompiledAnswer(
            kernel=self._count, compile_ns=kernel.compile_ns, packed_bytes=kernel.packed_bytes
        )

    def _run_passes(self, request: kernel_requests.RunPasses) -> requests.TraceAnswer:
        text, failure = request.pipeline.content.decode(), None
        sources = (request.payload, *(request.application.sources if request.application else ()))
        with new_context() as context:
            if request.spec is None:
                pipeline = checked_pipeline(text, request.pipeline.name, context, request.allowed_passes)
                module = parse_payload(request.payload)
                if request.application is not None:
                    apply_schedule(module, request.payload, request.application)
                leaves = tuple(pipeline.passes())
            with closing(
                PassWatch(Path(request.journal), sources, leaves if request.spec is None else ())
            ) as watch:
                try:
                    if request.spec is None:
                        run_pipeline(module, pipeline, watch, sources)
                    else:
                        with watching(watch):
                            lowered_module(self._recipe(request.spec), "llvm", self._progress)
                except LhkitError as error:
                    if not watch.has_looked:
                        raise
                    failure = explain_refusal(error.failure)
        return requests.TraceAnswer(failure=failure, failed_step=watch.failed_step)

    def _disassemble(self, request: kernel_requests.Disassemble) -> requests.Value[str]:
        # The disassembler and the object reader take longer to import than all the rest.
        from lhkit.compiler.machine.object_code import assembly_text

        return requests.Value(assembly_text(self._recipe(request.spec), self._progress))

    def _read_machine_code(self, request: kernel_requests.ReadMachineCode) -> requests.Value[MachineCode]:
        from lhkit.compiler.machine.object_code import machine_code

        recipe = self._recipe(request.spec)
        return requests.Value(machine_code(recipe, self._progress, with_lines=request.with_lines))

    def _sample_code(self, request: kernel_requests.SampleCode) -> requests.Value[CodeSamples]:
        from lhkit.compiler.machine.code_samples import sample_kernel

        arguments = [lay_out(self._argument(a), a.layout) for a in request.arguments]
        results = [self._result(r) for r in request.results]
        return requests.Value(sample_kernel(self._recipe(request.spec), arguments, results, request.seconds))

    def _read_memory(self, request: kernel_requests.ReadMemory) -> kernel_requests.MemoryAnswer:
        recipe = self._recipe(request.spec)
        if request.is_scheduled_only:
            return kernel_requests.MemoryAnswer(program=scheduled_memory(recipe, self._progress), counted=None)
        arguments = results = None
        if request.arguments is not None:
            arguments = [lay_out(self._argument(a), a.layout) for a in request.arguments]
            results = [self._result(r) for r in request.results]
        program, counted = kernel_memory(recipe, arguments, results, self._progress)
        return kernel_requests.MemoryAnswer(program=program, counted=counted)

    def _try_steps(self, request: requests.TrySteps) -> requests.Value[tuple[requests.StepOutcome, ...]]:
        schedule, *libraries = request.application.sources
        outcomes = []
        for number, text in enumerate(request.texts):
            # If this one kills the process, the client knows its number.
            self._send(Progress(str(number)))
            tried = dataclasses.replace(schedule, content=text.encode())
            application = dataclasses.replace(request.application, sources=(tried, *libraries))
            outcomes.append(try_last_step(request.payload, application, request.depth, request.known))
        return requests.Value(tuple(outcomes))

    def _recipe(self, spec: kernel_requests.KernelSpec) -> Recipe:
        return Recipe(
            spec.payload,
            spec.function,
            spec.application,
            spec.opt_level,
            spec.microkernels,
            {name: self._files.array(place) for name, place in spec.resources.items()},
            {i: self._files.array(place) for i, place in spec.bound.items()},
            target=spec.target,
            compile_c=c_compiler(self._ask),
        )

    def _kernel(self, number: int) -> CompiledKernel | None:
        if number in self._kernels:
            self._kernels.move_to_end(number)
        return self._kernels.get(number)

    def _call(self, request: kernel_requests.CallKernel) -> kernel_requests.CallAnswer:
        kernel = self._kernel(request.kernel)
        if kernel is None:
            return kernel_requests.CallAnswer(is_gone=True)
        arguments = [self._argument(a) for a in request.arguments]
        placed = [lay_out(a, p.layout) for a, p in zip(arguments, request.arguments, strict=True)]
        results = [self._result(r) for r in request.results]
        call = kernel.prepare(placed, results)
        for _ in range(request.before):
            call()
        begin = time.perf_counter_ns()
        call()
        last_ns = time.perf_counter_ns() - begin
        for array, copy in zip(arguments, placed, strict=True):
            if copy is not array and array.flags.writeable:
                array[...] = copy  # type: ignore[index]
        return structs.replace(self._answer_call(call, results, request.results), last_ns=last_ns)

    def _answer_call(
        self, call: PreparedCall, results: list[Array | np.dtype[Any]], places: Sequence[ArrayPlace]
    ) -> kernel_requests.CallAnswer:
        """Return results inline; large ones of dynamic shape are held until the client has a place for them."""
        returned = iter(call.returned())
        arrays = [r if isinstance(r, np.ndarray) else next(returned) for r in results]
        held = [a.nbytes > INLINE_BYTES and p.file is None for a, p in zip(arrays, places, strict=True)]
        self._held = (call, [a for a, h in zip(arrays, held, strict=True) if h])
        answered = [
            ArrayPlace(a.shape, a.dtype.name) if h else inline(a) if p.file is None else p
            for a, p, h in zip(arrays, places, held, strict=True)
        ]
        return kernel_requests.CallAnswer(results=tuple(answered), held=tuple(held))

    def _collect(self, request: kernel_requests.CollectResults) -> requests.Answer:
        _, arrays = self._held
        for array, place in zip(arrays, request.results, strict=True):
            self._files.array(place)[...] = array
        self._held = (None, [])
        return requests.Answer()

    def _argument(self, place: ArrayPlace) -> Array | np.generic:
        array = self._files.array(place)
        return array[()] if place.is_scalar else array

    def _result(self, place: ArrayPlace) -> Array | np.dtype[Any]:
        """Return the array of a result, or its dtype where the kernel decides the shape."""
        if place.file is not None:
            return self._files.array(place)
        dtype = dtype_named(place.dtype)
        return dtype if place.is_dynamic else aligned_empty(place.extents, dtype)

    def _run_reference(self, request: kernel_requests.RunReference) -> requests.Value[tuple[ArrayPlace, ...]]:
        # Copies: a reference may write to its arguments, and only memrefs are the caller's to be written to.
        arguments = [np.array(self._files.array(a)) for a in request.arguments]
        value = call_function(request.function, arguments)
        returned = value if isinstance(value, tuple) else () if value is None else (value,)
        results = (*returned, *(arguments[i] for i in request.written))
        return requests.Value(tuple(inline(np.asarray(r)) for r in results))

    def _prepare_timing(self, request: kernel_requests.PrepareTiming) -> kernel_requests.TimingAnswer:
        kernels = {}
        for number in (entry for entry in request.entries if isinstance(entry, int)):
            if (kernel := self._kernel(number)) is None:
                return kernel_requests.TimingAnswer(is_gone=True)
            kernels[number] = kernel
        timing = Timing(request, [self._argument(a) for a in request.setup.arguments], kernels)
        self._count += 1
        self._timings[self._count] = timing
        return kernel_requests.TimingAnswer(timing=self._count, core=timing.core)

    def _warm_up(self, request: kernel_requests.WarmUp) -> kernel_requests.WarmUpAnswer:
        with timing_sign():
            calls, stable = self._timings[request.timing].warm_up(request.entry, request.batch_ns)
        return kernel_requests.WarmUpAnswer(calls=calls, stable=stable)

    def _time_round(self, request: kernel_requests.TimeRound) -> kernel_requests.RoundAnswer:
        timing, samples = self._timings[request.timing], []
        with timing_sign() as is_another_timing:
            is_disturbed = is_another_timing()
            for index in request.order:
                self._send(Progress(f"timing {request.names[index]}"))
                samples.append((index, timing.sample(index, request.round)))
                is_disturbed |= is_another_timing()
            limits = timing.sample_limits()
        return kernel_requests.RoundAnswer(samples_ns=tuple(samples), limits=limits, is_disturbed=is_disturbed)

    def _release_timing(self, request: kernel_requests.ReleaseTiming) -> requests.Answer:
        self._timings.pop(request.timing, None)
        return requests.Answer()

    def _prepare_sweep(self, request: kernel_requests.PrepareSweep) -> requests.Answer:
        array = self._files.array
        self._benches[request.sweep] = VariantBench(
            request,
            self._recipe(request.spec),
            [self._argument(a) for a in request.setup.arguments],
            [(np.array(array(e)), None if a is None else np.array(array(a))) for e, a in request.expected],
            [array(place) for place in request.places],
        )
        return requests.Answer()

    def _note_stage(self, name: str, ir_sha256: str) -> None:
        self._send(Progress(name, ir_sha256=ir_sha256))

    def _try_variant(self, request: kernel_requests.TryVariant) -> kernel_requests.VariantAnswer:
        if (bench := self._benches.get(request.sweep)) is None:
            return kernel_requests.VariantAnswer(status="gone")
        return bench.try_variant(request, self._note_stage)

    def _compile_variant(self, request: kernel_requests.CompileVariant) -> kernel_requests.VariantCode:
        if (bench := self._benches.get(request.sweep)) is None:
            return kernel_requests.VariantCode(status="gone")
        return bench.compile_variant(request, self._note_stage)

    def _describe_variants(
        self, request: kernel_requests.DescribeVariants
    ) -> kernel_requests.VariantDescriptions:
        bench = self._benches.get(request.sweep)
        if bench is None:
            return kernel_requests.VariantDescriptions(variants=(), is_gone=True)
        found = tuple(bench.describe(knobs, request.vector_bytes) for knobs in request.knobs)
        return kernel_requests.VariantDescriptions(variants=found)

    def _release_sweep(self, request: kernel_requests.ReleaseSweep) -> requests.Answer:
        self._benches.pop(request.sweep, None)
        return requests.Answer()


def _describe() -> requests.Description:
    openmp = find_openmp()
    return requests.Description(
        host=HOST,
        version=host_version(HOST),
        pipeline_sha256=pipeline_sha256(),
        openmp=None if openmp is None else openmp.name,
        capabilities=capabilities(),
    )


def _find_removable(request: requests.FindRemovable) -> requests.Answer:
    removals, ignored = request.removals, request.ignored
    return requests.Value(tuple(removable_steps(request.payload, request.application, removals, ignored)))


def _make_catalogue(request: requests.MakeCatalogue) -> requests.Value[bytes]:
    # Catalogues and forms are asked for by sessions only.
    from lhkit.compiler.catalogue.catalogue_builder import introspect

    return requests.Value(json.dumps(introspect(request.lhkit).to_json()).encode())


def _load_payload(request: requests.LoadPayload) -> requests.PayloadAnswer:
    source = requests.Source("payload", "payload", request.name, request.content)
    with new_context():
        module, is_converted = parsed_as_linalg(source)
        return requests.PayloadAnswer(
            sequences=tuple(sequences_of(module)),
            # The text of a payload stays as its author wrote it; only bytecode has to be printed.
            text=str(module) if source.is_bytecode or is_converted else None,
            is_converted=is_converted,
            functions=tuple(functions_of(module)),
            resources=tuple(resource_uses(module)),
        )


def _find_failures(request: requests.FindFailures) -> requests.Value[tuple[requests.FailedText | None, ...]]:
    return requests.Value(tuple(failed_texts(request.payload, request.application, request.texts)))


def _apply_by_pass(request: requests.ApplyByPass) -> requests.Value[str]:
    a = request.application
    return requests.Value(apply_by_pass(request.payload, a.sources, a.entry, a.bind, a.allowed_passes))


def _read_forms(request: requests.ReadForms) -> requests.Value[tuple[WrittenForm, ...]]:
    from lhkit.compiler.catalogue.catalogue_builder import op_specs
    from lhkit.compiler.catalogue.form_reader import written_forms

    with reused_context():
        module = parse_module(request.source)
        return requests.Value(tuple(written_forms(module, op_specs(), Names((request.source,)))))

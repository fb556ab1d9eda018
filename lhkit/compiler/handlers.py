"""What the worker does for each request. State: compiled kernels, prepared timings and sweeps, nothing else."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lhkit.compiler.catalogue.catalogue_builder import introspect, op_specs
from lhkit.compiler.catalogue.form_reader import written_forms
from lhkit.compiler.extension.own_op_registry import known_ops, load_op_file
from lhkit.compiler.interpreter.application import apply_by_pass, apply_schedule, parse_payload
from lhkit.compiler.interpreter.rehearsal import try_last_step
from lhkit.compiler.interpreter.step_tracer import trace_application
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import HOST, new_context
from lhkit.compiler.ir.capabilities import capabilities, elementwise_spelling
from lhkit.compiler.ir.diagnostics import is_text_conversion, not_utf8
from lhkit.compiler.ir.functions import functions_of
from lhkit.compiler.ir.ir_dump import outline_payload, outline_schedule, written_ops
from lhkit.compiler.ir.parsing import parse_module
from lhkit.compiler.ir.resource_constants import resource_uses
from lhkit.compiler.ir.schedule_modules import knobs_of, parse_schedule, sequences_of
from lhkit.compiler.ir.work_estimate import work_of
from lhkit.compiler.lowering.microkernel_calls import CompileC
from lhkit.compiler.lowering.pipeline import pipeline_sha256
from lhkit.compiler.lowering.target_attributes import find_openmp
from lhkit.compiler.machine.compiled_kernel import CompiledKernel, Recipe, build_kernel, lowered_text
from lhkit.compiler.machine.memref_arguments import PreparedCall
from lhkit.compiler.machine.python_references import call_function
from lhkit.compiler.machine.timing_runs import Timing
from lhkit.compiler.machine.variant_trials import VariantBench
from lhkit.compiler.memory.heap_ledger import kernel_memory, scheduled_memory
from lhkit.compiler.tiling.tiled_op_reader import tilings_of
from lhkit.model.bindings_host import host_version
from lhkit.model.codec import from_json, to_json
from lhkit.model.signature import Microkernel
from lhkit.worker import framing
from lhkit.worker.framing import Progress
from lhkit.worker.requests import (
    Answer,
    Application,
    AppliedPayload,
    Apply,
    ApplyByPass,
    AskSpelling,
    CatalogueAnswer,
    CountWork,
    DefencesAnswer,
    Describe,
    Description,
    FormsAnswer,
    ListOwnOps,
    LoadOps,
    LoadPayload,
    LoadSchedule,
    MakeCatalogue,
    OutlineAnswer,
    OutlinePayload,
    OutlineSchedule,
    OwnOpsAnswer,
    PayloadAnswer,
    PayloadOutlineAnswer,
    Ping,
    ReadForms,
    ReadTilings,
    Request,
    ScheduleAnswer,
    Source,
    SpellingAnswer,
    StepOutcomes,
    TextAnswer,
    TilingsAnswer,
    TraceAnswer,
    TraceSchedule,
    TryDefences,
    TrySteps,
    UntypedAnswer,
    UntypedRequest,
    WorkAnswer,
)
from lhkit.worker.sandbox import explain_refusal, find_defences
from lhkit.worker.serving import Ask, Send
from lhkit.worker.shared_arrays import INLINE_BYTES, Array, MappedFiles, aligned_empty, dtype_named, lay_out
from lhkit.worker.timing_conditions import timing_sign

# Parts that many requests have, as the compiler takes them: sources, the application of a schedule.


def sources_of(described: Sequence[dict[str, Any]], body: bytes) -> tuple[Source, ...]:
    """Return the sources of a request; their contents stand in the body, end to end."""
    sources, offset = [], 0
    for d in described:
        content = body[offset : offset + d["bytes"]]
        sources.append(Source(d["role"], d["label"], d["name"], content))
        offset += d["bytes"]
    return tuple(sources)


def application_of(sources: Sequence[Source], parts: dict[str, Any]) -> Application:
    """Return the application of a schedule; reproducers of earlier versions allow no passes."""
    passes = tuple(parts.get("allowed_passes", ()))
    return Application(tuple(sources), parts["entry"], parts["knobs"], tuple(parts["bind"]), passes)


def c_compiler(ask: Ask) -> CompileC:
    """Return a function that compiles C source by asking the client: this process may not start a compiler."""

    def compile_c(file: str, text: str, header: str, target: str) -> tuple[str | None, str]:
        compiled = ask(framing.CompileC(file, text, header, target))
        return compiled.library, compiled.output

    return compile_c


_MOST_KERNELS = 64
_ELIDED_ELEMENTS = 256


class Handlers:
    """Answers requests by type.

    Args:
        send: Takes the notes about progress that go out before the answer.
        ask: Has the client do what this process is not allowed to, and returns its answer.
    """

    def __init__(self, send: Send, ask: Ask) -> None:
        self._send = send
        self._ask = ask
        self._files = MappedFiles()
        self._kernels: OrderedDict[int, CompiledKernel] = OrderedDict()
        self._timings: dict[int, Timing] = {}
        self._benches: dict[str, VariantBench] = {}
        self._held: tuple[PreparedCall | None, list[Array]] = (None, [])
        self._count = 0
        self._by_type: dict[type[Request[Any]], Callable[[Any], Answer]] = {
            Ping: lambda _: Answer(),
            Describe: lambda _: _describe(),
            AskSpelling: lambda _: SpellingAnswer(spelling=elementwise_spelling()),
            TryDefences: lambda _: DefencesAnswer(defences=find_defences()),
            LoadOps: lambda r: OwnOpsAnswer(ops=tuple(load_op_file(r.file, r.text.decode()))),
            ListOwnOps: lambda _: OwnOpsAnswer(ops=tuple(known_ops())),
            MakeCatalogue: _make_catalogue,
            LoadPayload: _load_payload,
            LoadSchedule: self._load_schedule,
            Apply: self._apply,
            ApplyByPass: _apply_by_pass,
            ReadForms: _read_forms,
            CountWork: lambda r: WorkAnswer(work=work_of(r.payload, r.function, r.shapes)),
            ReadTilings: lambda r: TilingsAnswer(tilings=tilings_of(r.payload)),
            OutlineSchedule: lambda r: OutlineAnswer(outline=outline_schedule(r.application)),
            OutlinePayload: lambda r: PayloadOutlineAnswer(outline=outline_payload(r.payload)),
            TraceSchedule: _trace,
            TrySteps: self._try_steps,
            UntypedRequest: self._answer_untyped,
        }
        self.request_types = tuple(self._by_type)
        self._by_name: dict[str, Callable[[dict[str, Any], bytes], UntypedAnswer]] = {
            "compile": self._compile,
            "lower": self._lower,
            "assembly": self._assembly,
            "machine_code": self._machine_code,
            "memory": self._memory,
            "call": self._call,
            "collect": self._collect,
            "reference": self._reference,
            "prepare_timing": self._prepare_timing,
            "warm_up": self._warm_up,
            "time_round": self._time_round,
            "release_timing": self._release_timing,
            "prepare_sweep": self._prepare_sweep,
            "try_variant": self._try_variant,
            "release_sweep": self._release_sweep,
        }

    def release(self, kernels: Sequence[int]) -> None:
        """Forget kernels."""
        for kernel in kernels:
            self._kernels.pop(kernel, None)

    def answer(self, request: Request[Any]) -> Answer:
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

    def _answer_untyped(self, request: UntypedRequest) -> UntypedAnswer:
        return self._by_name[request.name](request.fields, request.body)

    def _progress(self, stage: str, module: Any) -> None:
        # The LLVM dialect is long and nobody's last good IR; constants are not what one looks for.
        text = None
        if stage != "jit":
            text = module.operation.get_asm(large_elements_limit=_ELIDED_ELEMENTS)
        self._send(Progress(stage, text))

    def _load_schedule(self, request: LoadSchedule) -> ScheduleAnswer:
        sources = request.sources
        with new_context():
            module = parse_schedule(sources)
            return ScheduleAnswer(
                text=str(module) if sources[0].is_bytecode else None,
                functions=tuple(f.name for f in functions_of(module)),
                sequences=tuple(sequences_of(module)),
                knobs=tuple(knobs_of(module)),
                written=tuple(written_ops(sources[0])) if request.with_written_ops else (),
            )

    def _apply(self, request: Apply) -> AppliedPayload:
        with new_context():
            module = parse_payload(request.payload)
            before = str(module)
            self._progress("apply", module)
            apply_schedule(module, request.payload, request.application)
            is_changed = str(module) != before
            return AppliedPayload(
                text=module.operation.get_asm(use_name_loc_as_prefix=True) if is_changed else None,
                functions=tuple(functions_of(module)),
                resources=tuple(resource_uses(module)),
            )

    def _compile(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        kernel = build_kernel(self._recipe(fields, body), self._progress)
        self._count += 1
        self._kernels[self._count] = kernel
        while len(self._kernels) > _MOST_KERNELS:
            self._kernels.popitem(last=False)
        return _untyped({"kernel": self._count, "compile_ns": kernel.compile_ns})

    def _lower(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        text = lowered_text(self._recipe(fields, body), fields["stage"], self._progress)
        return _untyped({}, text.encode())

    def _assembly(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        # The disassembler and the object reader take longer to import than all the rest.
        from lhkit.compiler.machine.object_code import assembly_text

        return _untyped({}, assembly_text(self._recipe(fields, body), self._progress).encode())

    def _machine_code(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        from lhkit.compiler.machine.object_code import machine_code

        with_lines = bool(fields.get("lines"))
        code = machine_code(self._recipe(fields, body), self._progress, with_lines=with_lines)
        return _untyped({"code": to_json(code)})

    def _memory(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        """Answer what a payload or its kernel does with memory; with arguments, also what a call asked for."""
        if fields["stage"] == "scheduled":
            program = scheduled_memory(self._recipe(fields, body), self._progress)
            return _untyped({"counted": None}, json.dumps(to_json(program)).encode())
        described = fields["arguments"]
        arguments = results = None
        if described is not None:
            arguments = [lay_out(self._argument(d, body), d) for d in described]
            results = [self._result(d, body) for d in fields["results"]]
        program, counted = kernel_memory(self._recipe(fields, body), arguments, results, self._progress)
        return _untyped({"counted": to_json(counted)}, json.dumps(to_json(program)).encode())

    def _try_steps(self, request: TrySteps) -> StepOutcomes:
        schedule, *libraries = request.application.sources
        outcomes = []
        for number, text in enumerate(request.texts):
            # If this one kills the process, the client knows its number.
            self._send(Progress(str(number)))
            tried = dataclasses.replace(schedule, content=text.encode())
            application = dataclasses.replace(request.application, sources=(tried, *libraries))
            outcomes.append(try_last_step(request.payload, application, request.depth))
        return StepOutcomes(outcomes=tuple(outcomes))

    def _recipe(self, fields: dict[str, Any], body: bytes) -> Recipe:
        payload, *schedule = sources_of(fields["sources"], body)
        application = application_of(schedule, fields["schedule"]) if schedule else None
        level = fields["opt_level"]
        microkernels = tuple(from_json(Microkernel, m) for m in fields.get("microkernels", ()))
        resources = {d["name"]: self._resource(d, body) for d in fields.get("resources", ())}
        how = {"target": fields.get("target", ""), "compile_c": c_compiler(self._ask)}
        return Recipe(payload, fields["function"], application, level, microkernels, resources, **how)

    def _resource(self, descriptor: dict[str, Any], body: bytes) -> Array:
        if "file" in descriptor:
            return self._files.array(descriptor, body)
        return np.empty(descriptor["shape"], dtype_named(descriptor["dtype"]))  # of no elements

    def _kernel(self, number: int) -> CompiledKernel | None:
        if number in self._kernels:
            self._kernels.move_to_end(number)
        return self._kernels.get(number)

    def _call(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        kernel = self._kernel(fields["kernel"])
        if kernel is None:
            return _untyped({"gone": True})
        arguments = [self._argument(d, body) for d in fields["arguments"]]
        placed = [lay_out(a, d) for a, d in zip(arguments, fields["arguments"], strict=True)]
        results = [self._result(d, body) for d in fields["results"]]
        call = kernel.prepare(placed, results)
        call()
        for array, copy in zip(arguments, placed, strict=True):
            if copy is not array and array.flags.writeable:
                array[...] = copy  # type: ignore[index]
        return self._answer_call(call, results, fields["results"])

    def _answer_call(
        self, call: PreparedCall, results: list[Array | np.dtype[Any]], described: list[dict[str, Any]]
    ) -> UntypedAnswer:
        """Return results inline; large ones of dynamic shape are held until the client has a place for them."""
        returned = iter(call.returned())
        arrays = [r if isinstance(r, np.ndarray) else next(returned) for r in results]
        held = [a.nbytes > INLINE_BYTES and "file" not in d for a, d in zip(arrays, described, strict=True)]
        self._held = (call, [a for a, h in zip(arrays, held, strict=True) if h])
        inline = [a for a, d, h in zip(arrays, described, held, strict=True) if "file" not in d and not h]
        header = {"shapes": [list(a.shape) for a in arrays], "held": held}
        return _untyped(header, b"".join(a.tobytes() for a in inline))

    def _collect(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        """Write the results that are held to the client's places."""
        _, arrays = self._held
        for array, descriptor in zip(arrays, fields["results"], strict=True):
            self._files.array(descriptor, body)[...] = array
        self._held = (None, [])
        return _untyped({})

    def _argument(self, descriptor: dict[str, Any], body: bytes) -> Array | np.generic:
        array = self._files.array(descriptor, body)
        return array[()] if descriptor.get("scalar") else array

    def _result(self, descriptor: dict[str, Any], body: bytes) -> Array | np.dtype[Any]:
        """Return the place of a result, or its dtype where the kernel decides the shape."""
        if "file" in descriptor:
            return self._files.array(descriptor, body)
        dtype = dtype_named(descriptor["dtype"])
        return dtype if None in descriptor["shape"] else aligned_empty(descriptor["shape"], dtype)

    def _reference(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        # Copies: a reference may write to its arguments, and only memrefs are the caller's to be written to.
        arguments = [np.array(self._files.array(d, body)) for d in fields["arguments"]]
        value = call_function(fields["function"], arguments)
        returned = value if isinstance(value, tuple) else () if value is None else (value,)
        results = [np.asarray(r) for r in (*returned, *(arguments[i] for i in fields["written"]))]
        described = [{"shape": list(r.shape), "dtype": r.dtype.name} for r in results]
        return _untyped({"results": described}, b"".join(np.ascontiguousarray(r).tobytes() for r in results))

    def _prepare_timing(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        kernels = {}
        for number in (entry["kernel"] for entry in fields["entries"] if "kernel" in entry):
            if (kernel := self._kernel(number)) is None:
                return _untyped({"gone": number})
            kernels[number] = kernel
        arguments = [self._argument(d, body) for d in fields["arguments"]]
        timing = Timing(fields, arguments, kernels)
        self._count += 1
        self._timings[self._count] = timing
        return _untyped({"timing": self._count, "core": timing.core})

    def _warm_up(self, fields: dict[str, Any], _body: bytes) -> UntypedAnswer:
        with timing_sign():
            return _untyped(self._timings[fields["timing"]].warm_up(fields["entry"], fields["batch_ns"]))

    def _time_round(self, fields: dict[str, Any], _body: bytes) -> UntypedAnswer:
        timing, samples = self._timings[fields["timing"]], []
        with timing_sign() as is_another_timing:
            is_disturbed = is_another_timing()
            for index in fields["order"]:
                self._send(Progress(f"timing {fields['names'][index]}"))
                samples.append([index, timing.sample(index, fields["round"])])
                is_disturbed |= is_another_timing()
            limits = timing.sample_limits()
        return _untyped({"samples_ns": samples, "limits": limits, "is_disturbed": is_disturbed})

    def _release_timing(self, fields: dict[str, Any], _body: bytes) -> UntypedAnswer:
        self._timings.pop(fields["timing"], None)
        return _untyped({})

    def _prepare_sweep(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        arguments = [self._argument(d, body) for d in fields["arguments"]]
        expected = [
            (np.array(self._files.array(e, body)), None if a is None else np.array(self._files.array(a, body)))
            for e, a in fields["expected"]
        ]
        places = [self._files.array(d, body) for d in fields["places"]]
        recipe = self._recipe(fields, body)
        self._benches[fields["sweep"]] = VariantBench(fields, recipe, arguments, expected, places)
        return _untyped({})

    def _try_variant(self, fields: dict[str, Any], _body: bytes) -> UntypedAnswer:
        def stage(name: str, ir_sha256: str) -> None:
            self._send(Progress(name, ir_sha256=ir_sha256))

        bench = self._benches.get(fields["sweep"])
        return _untyped({"gone": True} if bench is None else bench.try_variant(fields, stage))

    def _release_sweep(self, fields: dict[str, Any], _body: bytes) -> UntypedAnswer:
        self._benches.pop(fields["sweep"], None)
        return _untyped({})


def _untyped(header: dict[str, Any], body: bytes = b"") -> UntypedAnswer:
    return UntypedAnswer(header=header, body=body)


def _describe() -> Description:
    openmp = find_openmp()
    return Description(
        host=HOST,
        version=host_version(HOST),
        pipeline_sha256=pipeline_sha256(),
        openmp=None if openmp is None else openmp.name,
        capabilities=capabilities(),
    )


def _make_catalogue(request: MakeCatalogue) -> CatalogueAnswer:
    return CatalogueAnswer(content=json.dumps(introspect(request.lhkit).to_json()).encode())


def _load_payload(request: LoadPayload) -> PayloadAnswer:
    source = Source("payload", "payload", request.name, request.content)
    with new_context():
        module = parse_module(source)
        return PayloadAnswer(
            sequences=tuple(sequences_of(module)),
            # The text of a payload stays as its author wrote it; only bytecode has to be printed.
            text=str(module) if source.is_bytecode else None,
            functions=tuple(functions_of(module)),
            resources=tuple(resource_uses(module)),
        )


def _apply_by_pass(request: ApplyByPass) -> TextAnswer:
    a = request.application
    return TextAnswer(text=apply_by_pass(request.payload, a.sources, a.entry, a.bind, a.allowed_passes))


def _read_forms(request: ReadForms) -> FormsAnswer:
    with new_context():
        module = parse_module(request.source)
        return FormsAnswer(steps=tuple(written_forms(module, op_specs(), Names((request.source,)))))


def _trace(request: TraceSchedule) -> TraceAnswer:
    ending = trace_application(request.payload, request.application, Path(request.journal))
    failure = ending.failure and explain_refusal(ending.failure)
    return TraceAnswer(failure=failure, failed_step=ending.failed_step)

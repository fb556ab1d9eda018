"""Exported PyTorch programs as linalg on tensors, with weights by name and layers in comments."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.export

from lhkit.compiler.frontends.torch_scans import lower_scans
from lhkit.compiler.ir.bindings import HOST, host_module, ir, passmanager
from lhkit.compiler.ir.parsing import from_structured, span_of, walk
from lhkit.compiler.ir.resource_constants import resource_uses
from lhkit.model.errors import Diagnostic, Failure, LhkitError, error_for
from lhkit.model.span import Span
from lhkit.worker.requests import ImportTorch, TorchAnswer
from lhkit.worker.torch_decompositions import decomposed, decompositions

_fx: Any = host_module("extras.fx_importer")
# The dialect's own module would make classes of its ops, which takes a tenth of a second; here ops are made and
# read by their names.
sys.modules.setdefault(f"{HOST}.dialects.torch", ModuleType(f"{HOST}.dialects.torch"))

_FUNCTION = "main"
_STUB_BYTES = 4
_PIPELINES = (
    "func.func(torch-match-quantized-custom-ops)",
    "torchdynamo-export-to-torch-backend-pipeline{extra-library=}",
    "torch-backend-to-linalg-on-tensors-backend-pipeline",
    "canonicalize",
)


def prepare() -> None:
    """Load what reads programs and decomposes them."""
    decompositions()
    for name in ("torch._export.serde.serialize", "torch.export.pt2_archive._package"):
        importlib.import_module(name)


def read_program(file: str) -> Any:
    """Return the exported program in a file, in operations that can be converted."""
    return decomposed(torch.export.load(file))


def convert(program: Any, request: ImportTorch) -> TorchAnswer:
    """Return a decomposed program as linalg on tensors; its tensors named in ``request.weights`` are not read.

    Raises:
        PayloadError: An operation cannot be converted; with its place in the module's source.
    """
    if mutated := sorted(program.graph_signature.buffers_to_mutate.values()):
        what = f"{request.name} writes to its buffers: {', '.join(mutated)}"
        raise error_for(Failure("payload-parse", what, advice="Return what it writes as further results."))
    for node in program.graph.nodes:
        if said := _unknown_numbers(node):
            what = f"{said[0]} numbers have no conversion to linalg: {node.name} is {said[1]}"
            raise _error(request.name, Diagnostic("error", what, _place_of(node)))
    context = ir.Context()
    context.enable_multithreading(False)
    host_module("_mlir_libs._torchMlir").register_dialect(context)
    importer = _fx.FxImporter(context=context, hooks=_Weights(program, request.weights))
    tracker = importer._py_attr_tracker
    importer._cc = _Layers(context, py_attr_tracker=tracker)
    with context:
        try:
            importer.import_frozen_program(program, func_name=_FUNCTION)
        except Exception as error:  # noqa: BLE001 - the importer raises what comes
            raise _import_error(program, error, request.name) from None
        module = importer.module
        for pipeline in _PIPELINES:
            _run(module, pipeline, request.name)
        lower_scans(module)
        _check_dialects(module, request.name)
        text = _with_layers(module)
        used = [use.name for use in resource_uses(module)]
    return TorchAnswer(text=text, weights=tuple(dict.fromkeys(n for n in used if n in request.weights)))


def _unknown_numbers(node: Any) -> tuple[str, torch.dtype] | None:
    """Return what kind of numbers a node has that linalg does not, and their type; None for others."""
    made = node.meta.get("val")
    if isinstance(made, torch.Tensor) and made.dtype.is_complex:
        return "complex", made.dtype
    # Fake tensors are not quantized, so what is asked for tells.
    asked = (a for a in node.args if isinstance(a, torch.dtype) and str(a).startswith("torch.q"))
    return next((("quantized", a) for a in asked), None)


class _Weights(_fx.FxImporterHooks):  # type: ignore[misc]
    """Weights become resources with the names of the state dict; those that were left out have no data."""

    def __init__(self, program: Any, left_out: Collection[str]) -> None:
        tensors = {**program.state_dict, **program.constants}
        # One element is a splat, which folds; of truth values the importer makes others.
        is_array = {n: isinstance(t, torch.Tensor) and t.numel() > 1 for n, t in tensors.items()}
        self._names = {id(t): n for n, t in tensors.items() if is_array[n] and t.dtype != torch.bool}
        self._kept = tensors  # ids are those of living tensors
        self._left_out = left_out
        self._values: dict[str, Any] = {}  # Of each weight: a second one of a name would get another

    def resolve_literal(self, gni: Any, literal: Any, info: Any) -> Any:
        """Return the value for a weight, None for other literals."""
        if (name := self._names.get(id(literal))) is None:
            return None
        type_ = gni._cc.tensor_to_vtensor_type(literal)
        if name not in self._values:
            data = bytes(_STUB_BYTES) if name in self._left_out else _bytes_of(literal)
            shaped = _fx.create_mlir_tensor_type(literal)
            self._values[name] = ir.DenseResourceElementsAttr.get_from_buffer(data, name, shaped)
        attributes = {"value": self._values[name]}
        return ir.Operation.create("torch.vtensor.literal", results=[type_], attributes=attributes).result


def _bytes_of(tensor: Any) -> bytes:
    with torch.no_grad():
        return bytes(tensor.detach().contiguous().flatten().view(torch.uint8).tolist())


class _Layers(_fx.ContextCache):  # type: ignore[misc]
    """Places of operations: the line in the module's source, by the name of the layer."""

    __slots__ = ()

    def get_node_location(self, node: Any) -> Any:
        """Return the location of what a node becomes."""
        place = _place_of(node)
        where = ir.Location.file(place.file, place.line, place.column) if place else ir.Location.unknown()
        layer = _layer_of(node)
        return ir.Location.name(layer, childLoc=where) if layer else where


def _layer_of(node: Any) -> str:
    """Return the name of the innermost layer that a node is of, and its kind, or what the node does."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = stack[-1] if stack else ("", "")
    named = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
    is_ready_made = named.startswith("torch.nn.")
    return f"{path} {named.rpartition('.')[2] if is_ready_made else _operation_of(node)}".strip()


def _operation_of(node: Any) -> str:
    """Return the operation of PyTorch that a node was before it was decomposed."""
    functions = node.meta.get("source_fn_stack") or ()
    target = node.meta.get("original_aten") or (functions[-1][1] if functions else node.target)
    plain = re.sub(r"^aten[.:]+|\.\w+$|_with_indices", "", str(target))
    return plain.strip("_") if node.op == "call_function" else ""


_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def _place_of(node: Any) -> Span | None:
    """Return the line of the module's own source, not PyTorch's, that a node comes from."""
    frames = [Span(file, int(line), 1) for file, line in _FRAME.findall(node.meta.get("stack_trace") or "")]
    own = str(Path(torch.__file__).parent)
    outside = [f for f in frames if not f.file.startswith(own)]
    return next(iter((outside or frames)[-1:]), None)


# Failures, with the operation and its place.


def _run(module: Any, pipeline: str, name: str) -> None:
    try:
        passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
    except ir.MLIRError as error:
        raise _conversion_error(from_structured(error), name) from None


def _check_dialects(module: Any, name: str) -> None:
    """Refuse what the conversion leaves in a dialect of its own, such as sorting."""
    left = next((op for op in walk(module.operation) if op.name.startswith(("tm_tensor.", "torch"))), None)
    if left is not None:
        layer = _layer_in(left.location)
        what = f"{layer or left.name} has no conversion to linalg: {left.name} would be left"
        raise _error(name, Diagnostic("error", what, span_of(left.location)))


_OPERATOR = re.compile(r"'(torch\.[\w.]+)'|torch\.operator \"(torch\.[\w.]+)\"")


def _conversion_error(diagnostics: tuple[Diagnostic, ...], name: str) -> LhkitError:
    said = " ".join(d.message for d in diagnostics)
    found = [a or b for a, b in _OPERATOR.findall(said)]
    named = next((n for n in reversed(found) if n != "torch.operator"), "") or next(iter(found), "an operation")
    what = named.removeprefix("torch.")
    first = Diagnostic("error", f"{what} has no conversion to linalg: {diagnostics[0].message.splitlines()[0]}")
    place = next((d.span for d in diagnostics if d.span is not None), None)
    return _error(name, Diagnostic("error", first.message, place))


def _import_error(program: Any, error: Exception, name: str) -> LhkitError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    what = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    # The importer names the node in a note, if at all.
    notes = " ".join([*lines, *getattr(error, "__notes__", ())])
    node = next((n for n in program.graph.nodes if n.op == "call_function" and f"%{n.name} " in notes), None)
    return _error(name, Diagnostic("error", what, _place_of(node) if node is not None else None))


def _error(name: str, diagnostic: Diagnostic) -> LhkitError:
    texts: tuple[tuple[str, str], ...] = ()
    if diagnostic.span is not None:
        with contextlib.suppress(OSError):
            texts = ((diagnostic.span.file, Path(diagnostic.span.file).read_text("utf-8", errors="replace")),)
    advice = (
        "Leave the operation out, or write it with operations that have one (torch-mlir decides which), and"
        " compute the rest in PyTorch."
    )
    failure = Failure(
        "lowering", f"{name} cannot be converted", (diagnostic,), advice, stage="import", texts=texts
    )
    return error_for(failure)


# The text, with the layers that ops come from as comments.


def _with_layers(module: Any) -> str:
    """Return the text of a module; where the layer changes, a comment says from which the next ops come."""
    text = str(module)
    layers = [_layer_in(op.location) for op in _with_places(module)]
    lines, said = text.splitlines(), ""
    with_places = ir.Module.parse(text)
    places = [span_of(op.location) for op in _with_places(with_places)]
    found: dict[int, str] = {}
    for layer, place in zip(layers, places, strict=True):
        if place is not None and layer and layer != said:
            found[place.line], said = layer, layer
    out = []
    for number, line in enumerate(lines, 1):
        if number in found:
            out.append(f"{line[: len(line) - len(line.lstrip())]}// {found[number]}")
        out.append(line)
    return "\n".join(out) + "\n"


def _with_places(module: Any) -> Iterator[Any]:
    """Yield the ops of a module's functions, without those in their regions and without constants."""
    for op in walk(module.operation):
        if (
            op.parent is not None
            and op.parent.name == "func.func"
            and op.name.startswith(("linalg.", "tensor.pad", "scf.for"))
        ):
            yield op


_NAME = re.compile(r'^loc\("([^"]+)"(?:\(|\))')


def _layer_in(location: Any) -> str:
    found = _NAME.match(str(location))
    return found[1] if found and not found[1].endswith((".py", "-")) else ""

"""PyTorch modules as payloads: exported here, converted to linalg behind the wall, weights kept by name."""

from __future__ import annotations

import atexit
import contextlib
import copy
import dataclasses
import functools
import gc
import importlib
import logging
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from numpy.typing import NDArray

from lhkit.load.deferred_module import deferred
from lhkit.load.loader import load_payload
from lhkit.model.bindings_host import TORCH_HOST, has_other_bindings
from lhkit.model.errors import Diagnostic, Failure, LhkitError, error_for, public, usage_error
from lhkit.model.payload import LocalReference, Payload
from lhkit.model.span import Span
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.folders import temporary_place
from lhkit.worker.limits import Limits
from lhkit.worker.requests import ImportTorch, TorchAnswer

if TYPE_CHECKING:
    import torch

Array = NDArray[Any]

_IMPORTER = "lhkit.compiler.frontends.torch_importer"
_TITLE = "the process that converts PyTorch modules"
_INSTALL = "pip install 'lhkit[torch]'"
# Smaller tensors, and truth values, are written into the IR: folding may look at them.
_LEAST_WEIGHT_BYTES = 256
_SECONDS = 300.0


@public
def from_torch(
    module: Any,
    *args: Any,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    name: str | None = None,
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> Payload:
    """Return a PyTorch module as a payload: linalg on tensors, with its weights beside it.

    The module is exported (``torch.export``) in this process, for inference: layers such as dropout do what
    they do after ``module.eval()``; the module itself stays as it is. What is exported is converted in a
    process of its own: on Linux a fork of this one, which has the program in its memory. Weights are constants
    whose data is no part of the text; they keep the names that they have in the state dict, and
    `Payload.constants_to_arguments` makes them arguments. Comments in the text say which layer of the module
    each op comes from.

    Args:
        module: A ``torch.nn.Module``, or the ``ExportedProgram`` of one.
        *args: Example inputs, as for a call of the module; only shapes and types matter. They are the arguments
            of the payload's function ``main``, in this order. Not needed for an ``ExportedProgram``.
        kwargs: Further example inputs by name; they come after the others.
        dynamic_shapes: Which dimensions may have other extents, as ``torch.export.export`` takes it.
        name: What to call it in messages; default: the name of its class.
        worker: The worker that the payload is loaded by; default: the session's.
        limits: Time and memory for the conversion; default: 300 seconds.

    Returns:
        The payload. Its kernels are verified against the module as it is then: weights that are changed later
        make a difference.

    Raises:
        UsageError: PyTorch is not installed, or what was given is no module.
        PayloadError: The module cannot be exported, changes its buffers, or has an operation that cannot be
            converted; with the place in its source where that is known.
    """
    torch = _torch()
    shown = name or f"<{type(module).__name__}>"
    # They start while the module is exported, which takes as long.
    needed = [worker or shared_worker(), *([] if _may_fork(torch) else [_importer()])]
    starting = [each.start_early() for each in needed]
    with warnings.catch_warnings(), _little_collection():
        warnings.simplefilter("ignore")  # that the module remembers what it computed of its weights
        program = _exported(torch, module, args, dict(kwargs or {}), dynamic_shapes, shown)
        tensors = {**program.state_dict, **program.constants}
        weights = {n: t for n, t in tensors.items() if _is_weight(torch, t)}
        for thread in starting:
            thread.join()  # a fork may leave locks of other threads locked
        light = _without_weights(torch, program, weights)
        answer = _converted(torch, light, ImportTorch("", shown, tuple(weights)), limits or Limits(_SECONDS))
    used = {n: weights[n] for n in answer.weights}
    payload = load_payload(
        answer.text,
        name=shown,
        weights={n: array_of_tensor(torch, t) for n, t in used.items()},
        worker=worker,
        limits=limits,
    )
    reference = LocalReference("the PyTorch module", _caller(torch, module, program, args, kwargs))
    return dataclasses.replace(payload, local_reference=reference)


def _torch() -> Any:
    try:
        import torch
        import torch.export
    except ImportError:
        raise usage_error("PyTorch is not installed", f"Install it with: {_INSTALL}") from None
    return torch


@contextlib.contextmanager
def _little_collection() -> Iterator[None]:
    """Load what exports, a thousand modules, and look for garbage only among what is new from then on.

    To look through all of it again and again would take a third of the time of the first export.
    """
    was_enabled, is_frozen = gc.isenabled(), gc.get_freeze_count() > 0
    gc.disable()
    try:
        # Of networkx, 300 modules, it needs nothing but the name of a class in an annotation.
        with contextlib.suppress(ImportError), deferred("networkx"):
            importlib.import_module("torch.export._trace")
    finally:
        if was_enabled:
            gc.enable()
    if is_frozen:  # the caller's own doing
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@functools.cache
def _importer() -> Worker:
    """Return the process that converts modules; it stays for the next one, and ends with this process."""
    importer = Worker(title=_TITLE, program=_IMPORTER)
    atexit.register(importer.close)
    return importer


def _is_weight(torch: Any, tensor: Any) -> bool:
    if not isinstance(tensor, torch.Tensor) or tensor.dtype == torch.bool:
        return False
    return bool(tensor.numel() * tensor.element_size() >= _LEAST_WEIGHT_BYTES)


def array_of_tensor(torch: Any, tensor: Any) -> Array:
    """Return the data of a tensor; one on this CPU, without gaps, is not copied."""
    plain = tensor.detach().cpu().contiguous()
    if plain.dtype == torch.bfloat16:
        import ml_dtypes

        return np.asarray(plain.view(torch.uint16).numpy().view(ml_dtypes.bfloat16))
    return np.asarray(plain.numpy())


# Export, with the place in the user's source where it fails.


def _exported(
    torch: Any, module: Any, args: Sequence[Any], kwargs: dict[str, Any], dynamic_shapes: Any, shown: str
) -> Any:
    if isinstance(module, torch.export.ExportedProgram):
        return module
    if not isinstance(module, torch.nn.Module):
        what = f"{type(module).__name__} is neither a torch.nn.Module nor an ExportedProgram"
        raise usage_error(what, "Give the module itself, then example inputs: lhkit.from_torch(module, x).")
    with _in_inference(module), _quiet():
        try:
            return torch.export.export(module, tuple(args), kwargs, dynamic_shapes=dynamic_shapes, strict=False)
        except Exception as error:  # noqa: BLE001 - whatever the module or the exporter raises
            raise _export_error(torch, error, shown) from None


@contextlib.contextmanager
def _in_inference(module: Any) -> Iterator[None]:
    """Let a module compute as after ``eval()``, and be as it was afterwards."""
    training = [m for m in module.modules() if m.training]
    for each in training:
        each.training = False
    try:
        yield
    finally:
        for each in training:
            each.training = True


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep PyTorch from logging tracebacks: what it raises says the same."""
    before = logging.root.manager.disable
    logging.disable(max(before, logging.ERROR))
    try:
        yield
    finally:
        logging.disable(before)


_CONTROL_FLOW = ("data-dependent", "DataDependent")
_CONTROL_FLOW_ADVICE = (
    "What is computed may not decide what is done next: use torch.where or torch.cond, or schedule the parts on"
    " both sides of the decision one by one."
)
_RUN_ADVICE = "Check that the module runs on these example inputs, and that no tensor is quantized or sparse."
_NOISE = re.compile(r"\x1b\[[0-9;]*m")


def _export_error(torch: Any, error: Exception, shown: str) -> LhkitError:
    place = _place_in_source(torch, error)
    said = next((line.strip() for line in _NOISE.sub("", str(error)).splitlines() if line.strip()), "")
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    is_control_flow = any(word in f"{type(error).__name__} {error}" for word in _CONTROL_FLOW)
    failure = Failure(
        "payload-parse",
        f"{shown} cannot be exported",
        (Diagnostic("error", what, place),),
        _CONTROL_FLOW_ADVICE if is_control_flow else _RUN_ADVICE,
        stage="export",
        texts=_texts([place] if place else []),
    )
    return error_for(failure)


def _place_in_source(torch: Any, error: BaseException) -> Span | None:
    """Return the innermost line of an exception that is neither PyTorch's nor lhkit's."""
    own = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1]))
    found: Span | None = None
    seen: BaseException | None = error
    while seen is not None and found is None:
        for frame in traceback.extract_tb(seen.__traceback__):
            is_standard = (
                frame.filename.startswith(("<", sys.base_prefix)) and "site-packages" not in frame.filename
            )
            if not frame.filename.startswith(own) and not is_standard:
                found = Span(frame.filename, frame.lineno or 1, (frame.colno or 0) + 1)
        seen = seen.__cause__ or seen.__context__
    return found


def _texts(places: Sequence[Span]) -> tuple[tuple[str, str], ...]:
    import linecache  # knows the cells of notebooks, too

    found = {p.file: "".join(linecache.getlines(p.file)) for p in places}
    return tuple((file, text) for file, text in found.items() if text)


# To the process that converts it, without the weights: a fork has it in memory, another one gets it in a file.


def _may_fork(torch: Any) -> bool:
    """Return whether a fork of this process can convert: devices and other bindings do not outlive a fork."""
    return sys.platform == "linux" and not torch.cuda.is_initialized() and not has_other_bindings(TORCH_HOST)


def _converted(torch: Any, program: Any, request: ImportTorch, limits: Limits) -> TorchAnswer:
    if _may_fork(torch):
        with contextlib.suppress(OSError):  # there is no room for another process of this size
            return _converted_by_fork(torch, program, request, limits)
    with temporary_place("lhkit-torch-") as place:
        file = place / "module.pt2"
        _save(torch, program, file, request.name)
        return _importer().ask(ImportTorch(str(file), request.name, request.weights), limits=limits)


def _converted_by_fork(torch: Any, program: Any, request: ImportTorch, limits: Limits) -> TorchAnswer:
    from lhkit.worker.torch_decompositions import decomposed

    with _quiet():  # here, where the caches of PyTorch are warm
        try:
            program = decomposed(program)
        except LhkitError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a decomposition raises
            raise _export_error(torch, error, request.name) from None

    def handlers(*_: Any) -> Any:
        torch.set_num_threads(1)  # the threads of its pools are not there in the fork
        gc.freeze()  # to look through what it shares would copy it
        return importlib.import_module(_IMPORTER).Handlers(program)

    shared = psutil.Process().memory_info().rss
    limits = dataclasses.replace(limits, bytes=limits.memory_bytes + shared)
    with contextlib.closing(Worker(limits, title=_TITLE, program=_IMPORTER, forked=handlers)) as forked:
        return forked.ask(request)


def _without_weights(torch: Any, program: Any, weights: Mapping[str, Any]) -> Any:
    """Return a program with tensors of one element in place of its weights, stretched to their shapes."""
    state, constants = dict(program.state_dict), dict(program.constants)
    for tensors in (state, constants):
        for name in weights.keys() & tensors.keys():
            old = tensors[name]
            stub = torch.zeros((1,) * old.dim(), dtype=old.dtype).expand(old.shape)
            tensors[name] = torch.nn.Parameter(stub, False) if isinstance(old, torch.nn.Parameter) else stub
    light = copy.copy(program)  # a new program would be checked, and refused where it writes to buffers
    light._state_dict, light._constants, light._example_inputs = state, constants, None
    return light


def _save(torch: Any, program: Any, file: Path, shown: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the stretched tensors are no whole ones
        try:
            torch.export.save(program, file)
        except Exception as error:  # noqa: BLE001 - quantized types, and whatever else cannot be written
            raise _export_error(torch, error, shown) from None


# The module itself as the reference.


def _caller(
    torch: Any, module: Any, program: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None
) -> Callable[..., tuple[Array, ...]]:
    """Return a function that calls a module with arrays, and returns its results as arrays."""
    from torch.utils import _pytree

    if isinstance(module, torch.export.ExportedProgram):
        args, kwargs = program.example_inputs or ((), {})
        called: Any = program.module()
    else:
        called = module
    leaves, spec = _pytree.tree_flatten((tuple(args), dict(kwargs or {})))

    def call(*arrays: Array) -> tuple[Array, ...]:
        given = iter(arrays)
        filled = [tensor_of_array(torch, next(given)) if isinstance(x, torch.Tensor) else x for x in leaves]
        positional, named = _pytree.tree_unflatten(filled, spec)
        with torch.no_grad(), _in_inference(called) if called is module else contextlib.nullcontext():
            results, _ = _pytree.tree_flatten(called(*positional, **named))
        return tuple(array_of_tensor(torch, r) for r in results if isinstance(r, torch.Tensor))

    return call


def tensor_of_array(torch: Any, array: Array) -> torch.Tensor:
    """Return a copy of an array as a tensor."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(array).view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))

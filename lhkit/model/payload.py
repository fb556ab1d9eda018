"""Payload IR as a value, with the data of its ``dense_resource`` constants kept beside the IR."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lhkit.model.codec import NOT_IN_FILES
from lhkit.model.errors import UsageError, public, usage_error
from lhkit.model.showable import Printable, Showable
from lhkit.model.signature import Function

if TYPE_CHECKING:
    from pathlib import Path

    from lhkit.model.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Blob:
    """The data of one resource of a payload. What it holds is never printed."""

    name: str  # Its name in the IR: ``w`` in ``dense_resource<w>``
    dtype: str  # Element type in NumPy's spelling; MLIR's own where NumPy has none
    shape: tuple[int, ...]
    sha256: str
    # The bytes, in a memory-mapped file that is deleted with the last reference
    data: memoryview = field(repr=False, compare=False)

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        return self.data.nbytes


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """A constant of a payload whose data is a resource."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    text: str  # The type as MLIR writes it
    nbytes: int | None  # How many bytes such a constant has, None where NumPy has no such elements
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class LocalReference:
    """What computes the same as a payload in this process."""

    what: str  # What it is, in messages
    call: Callable[
        ..., tuple[Any, ...]
    ]  # Takes the arguments of the function and returns its results, as arrays


@dataclass(frozen=True, slots=True)
class Payload(Showable):
    """IR to be scheduled: parsed and verified once, then carried as text.

    Attributes:
        source: Where it came from, as shown to people: a path, or a name in angle brackets.
        text: The IR. For bytecode this is its printed form.
        functions: Its functions, in order.
        bytecode: The bytecode it was loaded from, or None.
        reference: ``FILE.py:FUNCTION`` that computes the same with NumPy, or None.
        sequences: Names of the named sequences in the same module, without ``@``.
        blobs: The data of constants (``dense_resource``) and of arguments that were constants; it is never
            part of the text.
        local_reference: What computes the same in this process, such as the PyTorch module that it was made of.
    """

    source: str
    text: str
    functions: tuple[Function, ...]
    bytecode: bytes | None = None
    reference: str | None = None
    sequences: tuple[str, ...] = ()
    blobs: tuple[Blob, ...] = ()
    local_reference: LocalReference | None = field(
        default=None, repr=False, compare=False, metadata=NOT_IN_FILES
    )

    @property
    def content(self) -> bytes:
        """What the compiler parses: the bytecode if there is one, else the text."""
        return self.text.encode() if self.bytecode is None else self.bytecode

    @property
    def sha256(self) -> str:
        """Hash of the content and of the blobs, in hexadecimal."""
        digest = hashlib.sha256(self.content)
        for blob in self.blobs:
            digest.update(f"\n{blob.name} {blob.dtype} {blob.shape} {blob.sha256}".encode())
        return digest.hexdigest()

    def function(self, name: str | None = None) -> Function:
        """Return the function of that name; without a name the only one with a body, or the only public one.

        Raises:
            UsageError: There is no such function, or the choice is not clear.
        """
        defined = [f for f in self.functions if not f.is_declaration]
        if not defined:
            raise self._no_function()
        public = [f for f in defined if not f.is_private] or defined
        wanted = public if name is None else [f for f in defined if f.name == name.removeprefix("@")]
        if len(wanted) == 1:
            return wanted[0]
        listed = "\n".join(f"  {f.describe()}" for f in defined)
        if name is not None:
            message = f"{self.source} has no function @{name.removeprefix('@')}"
            raise usage_error(message, f"Its functions:\n{listed}")
        raise usage_error(
            f"{self.source} has {len(defined)} functions; say which one to run",
            f"--function NAME on the command line, function=… in Python:\n{listed}",
        )

    def _no_function(self) -> UsageError:
        if self.sequences and not self.functions:
            listed = ", ".join(f"@{s}" for s in self.sequences)
            advice = "Give the payload first: lhkit run PAYLOAD SCHEDULE."
            message = f"{self.source} is a schedule (it has {listed} and no function), not a payload"
            return usage_error(message, advice)
        advice = "What is compiled and called is a func.func; lhkit trace takes any payload."
        return usage_error(f"{self.source} has no function with a body", advice)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.show.value_views import payload_bundle

        return payload_bundle(self)

    def __str__(self) -> str:
        return self.text

    # Implemented in rooms above the model: imported when called.

    @public
    def apply(self, schedule: Schedule | str | os.PathLike[str]) -> Payload:
        """Return what a schedule makes of the payload, as a payload: to be cut, scheduled further, or saved.

        The data of constants stays with it, and so do references while the signatures of functions do.

        Args:
            schedule: The schedule, loaded or a path.

        Raises:
            ScheduleError: It does not apply.
        """
        from lhkit.load.loader import as_schedule
        from lhkit.load.weights import apply_to

        return apply_to(self, as_schedule(schedule))

    @public
    def constants_to_arguments(self, *, append_untied: bool = False) -> Payload:
        """Return the payload with the constants whose data is a resource as arguments of its functions.

        This applies ``lhkit.convert_const_resources_to_args``, whose documentation says in which order they
        come and what they are called: ``lhkit.ops.find("lhkit.convert_const_resources_to_args")``. The data
        stays with the payload; a kernel that is called without these arguments runs on it.

        Args:
            append_untied: Append constants that lead to no product and no convolution, instead of refusing.

        Raises:
            ScheduleError: A constant leads to none; with its name, place and users.
        """
        from lhkit.load.weights import constants_to_arguments

        return constants_to_arguments(self, append_untied=append_untied)

    @public
    def parts(self, function: str | None = None) -> tuple[Part, ...]:
        """Return the parts of a function: an op that multiplies or reduces each, with what fuses into it.

        What works by elements ends the product before it; transposes, padding and views belong to what reads
        them; softmax, normalizations and chains of elementwise ops are one part each, and so is attention.
        Equal parts are one part, computed in several places. Sizes, scalars and constants of few elements are
        part of each; larger constants are arguments. In a function that calls others, such as those that
        ``pipelines/flow.mlir`` makes, each that calls none itself is a part, under its own name.

        Args:
            function: Which function; needed where there are several.

        Raises:
            UsageError: There is no such function, it has branches, or no op on tensors.
        """
        from lhkit.parts.payload_parts import parts_of

        return parts_of(self, function)

    @public
    def weights(self, function: str | None = None) -> dict[str, Any]:
        """Return the data of the arguments that were constants, and of constants, as NumPy arrays by name.

        The names of arguments are those that they were given (``matmul_0_B``), those of constants are the
        names of their resources. The arrays are read-only and share the memory of the payload.

        Args:
            function: Of which function; needed where several have such arguments.

        Raises:
            UsageError: There is no such function, or the choice is not clear.
        """
        from lhkit.load.weights import weights_of_payload

        return weights_of_payload(self, function)

    @public
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the payload as ``PATH``, and its blobs beside it as ``.npz``; `lhkit.load_payload` finds both.

        Args:
            path: A file that ends in ``.mlir``; an existing file is replaced.

        Returns:
            The path.

        Raises:
            UsageError: It cannot be written, or does not end in ``.mlir``.
        """
        from lhkit.load.weights import save_payload

        return save_payload(self, path)


@dataclass(frozen=True, slots=True)
class Part(Printable):
    """A part of a payload: ops that are scheduled together.

    Attributes:
        name: ``part_0``, … in the order in which they are computed first; of a function its own name.
        kind: What takes most time in it: ``contraction``, ``convolution``, ``reduction``, ``elementwise``,
            ``copy`` or ``other``.
        ops: The names of its ops, in order.
        layers: Of each place where it is computed, the layers of the PyTorch module that it comes from; empty
            where that is not known. Equal parts are one part, computed in several places.
        payload: The part as a payload of its own. Weights are arguments.
    """

    name: str
    kind: str
    ops: tuple[str, ...]
    layers: tuple[str, ...]
    payload: Payload

    @property
    def count(self) -> int:
        """In how many places it is computed."""
        return len(self.layers)

    @property
    def summary(self) -> str:
        """What it is, in a few words: kind, shape of the first result, layers."""
        shape = self.payload.function().results[0].text if self.payload.function().results else ""
        times = f", {self.count} times" if self.count > 1 else ""
        where = next((layer for layer in self.layers if layer), "")
        return f"{self.name}: {self.kind}{times} to {shape}" + (f" ({where})" if where else "")

    def _mime_bundle(self) -> dict[str, Any]:
        return {"text/plain": self.summary}

"""What a payload can be asked for beyond its text; the answers live in rooms that the model does not know."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from lhkit.model.showable import Showable, call

if TYPE_CHECKING:
    from pathlib import Path

    from lhkit.model.payload import Payload


class PayloadMethods(Showable):
    """Questions to a payload."""

    __slots__ = ()

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
        return cast("Payload", call(self, "constants_to_arguments", append_untied=append_untied))

    def weights(self, function: str | None = None) -> dict[str, Any]:
        """Return the data of the arguments that were constants, and of constants, as NumPy arrays by name.

        The names of arguments are those that they were given (``matmul_0_B``), those of constants are the
        names of their resources. The arrays are read-only and share the memory of the payload.

        Args:
            function: Of which function; needed where several have such arguments.

        Raises:
            UsageError: There is no such function, or the choice is not clear.
        """
        return cast("dict[str, Any]", call(self, "weights", function))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the payload as ``PATH``, and its blobs beside it as ``.npz``; `lhkit.load_payload` finds both.

        Args:
            path: A file that ends in ``.mlir``; what stands there is replaced.

        Returns:
            The path.

        Raises:
            UsageError: It cannot be written, or does not end in ``.mlir``.
        """
        return cast("Path", call(self, "save", path))

"""The content of a payload as it is parsed, without the data of its resources."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from lhkit.load.resource_bytecode import MAGIC, split_bytecode
from lhkit.load.resource_sections import Buffer, FoundBlob, split_resources
from lhkit.model.file_io import open_input

_LONG_BYTES = 16 << 20


def split_file(path: Path) -> tuple[bytes, tuple[FoundBlob, ...]]:
    """Return the content of a file without the data of its resources, and that data.

    Raises:
        OSError: It cannot be read, or there is no room for the data.
        CutOffError: It ends within the data of a resource.
    """
    with open_input(path) as file:
        if os.fstat(file.fileno()).st_size < _LONG_BYTES:
            return split_content(file.read())
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return split_content(mapped)


def split_content(content: Buffer) -> tuple[bytes, tuple[FoundBlob, ...]]:
    """Return text or bytecode without the data of its resources, and that data.

    Raises:
        OSError: There is no room for the data.
        CutOffError: The text ends within the data of a resource.
    """
    return split_bytecode(content) if content[: len(MAGIC)] == MAGIC else split_resources(content)

"""``lhkit.bench/1`` files on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lhkit.bench.bench_file import bench_from_json
from lhkit.model.errors import usage_error
from lhkit.model.file_io import parse_json, read_text
from lhkit.model.measurement import Comparison


def load_bench(path: str | os.PathLike[str]) -> Comparison:
    """Return the comparison that ``lhkit bench --json`` wrote.

    Args:
        path: The file.

    Raises:
        UsageError: No such file, not JSON, not of this schema and version, or damaged.
    """
    return bench_from_json(read_json(Path(path)), str(path))


def read_json(path: Path) -> Any:
    """Return what a JSON file holds."""
    try:
        text = read_text(path)
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise usage_error(f"{path} is not JSON: it is not text in UTF-8") from None
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise usage_error(f"{path} is not JSON: {place}: {error.msg}") from None
    except ValueError as error:
        raise usage_error(f"{path} is not JSON: {error}") from None

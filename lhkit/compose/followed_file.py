"""A schedule file that is also edited elsewhere: polling, and detecting conflicting saves."""

from __future__ import annotations

import os
from pathlib import Path

from lhkit.load.shipped_files import find_file, shipped_folder
from lhkit.model.errors import usage_error
from lhkit.model.file_io import read_bytes, read_text, write_file


class FollowedFile:
    """The text of a file, and whether it has changed since it was last taken.

    Attributes:
        path: The file.
        taken: The text that was taken last.
    """

    def __init__(self, path: Path) -> None:
        """Take the text of a file."""
        self.path = path
        try:
            self.taken = read_text(path)
        except OSError as error:
            raise usage_error(f"{path} cannot be followed: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise usage_error(f"{path} cannot be followed: it is not text in UTF-8") from None

    def poll(self) -> str | None:
        """Return the text if it is another than the one taken last, else None.

        The content is compared, not its time, which may be equal for two quick saves. A file
        that is gone, empty or cut inside a character is one that an editor is about to write.
        """
        try:
            text = read_text(self.path)
        except (OSError, UnicodeDecodeError):
            return None
        if text == self.taken or not text.strip():
            return None
        self.taken = text
        return text

    def save(self, text: str, *, overwrites: bool = False) -> None:
        """Write a text to the file."""
        if not overwrites and self.changed_meanwhile(text):
            raise usage_error(
                f"{self.path.name} was changed by another editor meanwhile; nothing was written",
                "Overwrite it, take its text, or save under another name.",
            )
        write_file(self.path, text.encode())
        self.taken = text

    def changed_meanwhile(self, text: str) -> bool:
        """Return whether writing a text would overwrite an external save that was not read."""
        try:
            there = read_bytes(self.path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise usage_error(f"{self.path} cannot be read: {error.strerror or error}") from None
        return there not in (self.taken.encode(), text.encode())


def own_file(schedule: object) -> Path | None:
    """Return the file that a schedule was given as, which can be followed.

    None of those that come with lhkit, which stay as they are; nothing where text or a value was given.
    """
    if not isinstance(schedule, str | os.PathLike) or (
        isinstance(schedule, str) and ("\n" in schedule or "{" in schedule)
    ):
        return None
    file = find_file(Path(schedule), "schedules")
    is_shipped = file.resolve().is_relative_to(shipped_folder("schedules").resolve())
    return None if is_shipped or file.suffix == ".mlirbc" else file

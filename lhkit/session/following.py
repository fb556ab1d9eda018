"""A file that another editor saves, looked at whenever somebody asks."""

from __future__ import annotations

from pathlib import Path

from lhkit.model.errors import usage_error


class FollowedFile:
    """The text of a file, and whether it has changed since it was last taken.

    Attributes:
        path: The file.
        taken: The text that was taken last.
    """

    def __init__(self, path: Path) -> None:
        """Take the text of a file.

        Raises:
            UsageError: It cannot be read, or is no text.
        """
        self.path = path
        try:
            self.taken = path.read_text(encoding="utf-8")
        except OSError as error:
            raise usage_error(f"{path} cannot be followed: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise usage_error(f"{path} cannot be followed: it is not text in UTF-8") from None

    def poll(self) -> str | None:
        """Return the text if it is another than the one taken last, else None.

        The content is compared, not its time, which may stand still between two quick saves. A file
        that is gone, empty or cut inside a character is one that an editor is about to write.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        if text == self.taken or not text.strip():
            return None
        self.taken = text
        return text

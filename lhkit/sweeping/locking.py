"""A lock on an open file that ends with the process that holds it, whatever ends that."""

from __future__ import annotations

import errno
import sys

_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)

if sys.platform == "win32":
    import msvcrt
    import os

    # Locks of Windows keep others from reading what they cover, so this one covers a byte far behind.
    _PLACE = 1 << 40

    def lock_file(descriptor: int) -> None:
        """Lock an open file, or raise OSError at once."""
        os.lseek(descriptor, _PLACE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def lock_file(descriptor: int) -> None:
        """Lock an open file, or raise OSError at once."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked_by_another(error: OSError) -> bool:
    """Return whether `lock_file` failed because another one holds the lock."""
    return error.errno in _TAKEN

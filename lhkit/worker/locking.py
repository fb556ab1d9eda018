"""A lock on an open file that ends with the process that holds it, whatever ends that."""

from __future__ import annotations

import errno
import sys
import time

_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_POLL_SECONDS = 0.02

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


def wait_for_lock(descriptor: int, seconds: float) -> bool:
    """Lock an open file once no other process has it locked.

    Args:
        descriptor: Of the file.
        seconds: How long to wait at most.

    Returns:
        Whether it is locked now.

    Raises:
        OSError: This file cannot be locked at all.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            lock_file(descriptor)
            return True
        except OSError as error:
            if not is_locked_by_another(error):
                raise
        if time.monotonic() >= deadline:
            return False
        time.sleep(min(_POLL_SECONDS, seconds))


def is_locked_by_another(error: OSError) -> bool:
    """Return whether `lock_file` failed because another one holds the lock."""
    return error.errno in _TAKEN

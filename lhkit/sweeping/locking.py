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

    def wait_for_lock(descriptor: int) -> None:
        """Lock an open file once nobody else has it locked."""
        while True:
            os.lseek(descriptor, _PLACE, os.SEEK_SET)
            try:
                return msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # tries for ten seconds
            except OSError as error:
                if not is_locked_by_another(error):
                    raise

else:
    import fcntl

    def lock_file(descriptor: int) -> None:
        """Lock an open file, or raise OSError at once."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def wait_for_lock(descriptor: int) -> None:
        """Lock an open file once nobody else has it locked."""
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_locked_by_another(error: OSError) -> bool:
    """Return whether `lock_file` failed because another one holds the lock."""
    return error.errno in _TAKEN

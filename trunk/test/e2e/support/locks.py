"""What only one worker may do at a time, by a name: a locked file in objs/test/."""

import contextlib
import fcntl

from weir import TOP


@contextlib.contextmanager
def one_at_a_time(name):
    path = TOP / "objs" / "test" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:  # closing it gives the lock back, whatever becomes of the process
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

"""What the workers of pytest-xdist share: things that only one may do at a time, and things that one makes for all."""

import contextlib
import fcntl
import os
import shutil

from weir import TOP


@contextlib.contextmanager
def one_at_a_time(name):
    """No other worker is inside with the same name, of this run or of another one in this tree."""
    path = TOP / "objs" / "test" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:  # closing it gives the lock back, whatever becomes of the process
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def once_per_run(tmp_path_factory, name, make):
    """The folder that make(folder) fills; the first worker that asks makes it, the others wait."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"shared-{name}"
    made = folder.with_name(f"{folder.name}-is-made")
    with one_at_a_time(name):
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.touch()
    return folder

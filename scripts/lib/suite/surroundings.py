"""What a run needs of the machine, looked at before it starts: sentences for a person in place of a test that fails later."""

import os
import shutil
import subprocess
import tempfile
import time

from suite import places

# Measured: objs/ of a whole run. Nothing else of the machine is written to.
RELEASE_BYTES = 3 << 30
ALL_BYTES = 6 << 30
CLOCK_SECONDS = 60


def problems(everything, builds):
    """Why a run cannot succeed here; empty when it can."""
    found = []
    objs = places.TOP / "objs"
    try:
        objs.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=objs):
            pass
    except OSError as error:
        return [f"cannot write into {objs}: {error.strerror}; make that folder writable for this user, or clone the project elsewhere"]
    wanted, free = ALL_BYTES if everything else RELEASE_BYTES, shutil.disk_usage(objs).free
    if builds and not (objs / "release" / "weir-component-tests").exists() and free < wanted:
        found.append(f"{objs} has {free >> 20} MiB free, and a run from nothing needs {wanted >> 20} MiB; free some space")
    late = newest_source() - time.time()
    if builds and late > CLOCK_SECONDS:
        found.append(f"sources are {late:.0f} s newer than the clock of this machine, so each build would begin again; set the clock, or "
                     "run: find trunk scripts -newermt now -exec touch {} +")
    return found


def newest_source():
    return max((path.stat().st_mtime for folder in ("src", "cmake", "test") for path in (places.TOP / "trunk" / folder).rglob("*")
                if path.suffix in (".cc", ".h", ".cmake", ".py")), default=0)


def has_namespaces():
    """Whether this user may make network namespaces and mount file systems: root outside a locked container."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    done = subprocess.run(["unshare", "--net", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
    return done.returncode == 0


def note_left_out(everything):
    """True when tests marked `root` are left out. A run of everything never leaves one out: there they fail, and say why."""
    if everything or has_namespaces():
        return False
    print("note: tests marked root are left out: they need root, network namespaces and mounts (make test ALL=1 insists on them)", flush=True)
    return True

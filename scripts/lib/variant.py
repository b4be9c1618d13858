"""For scripts that build other variants than the one that the user has configured."""

import contextlib
import subprocess


@contextlib.contextmanager
def another_variant(top):
    """Inside, anything may be configured and built. Afterwards the configured variant, and the links to its programs, are
    those of before; a release build where there was none."""
    config = top / "objs" / "config.mk"
    before = config.read_text() if config.exists() else None
    try:
        yield
    finally:
        if before is not None:
            config.write_text(before)
        else:
            subprocess.run(["./configure"], cwd=top, stdout=subprocess.DEVNULL, check=False)
        subprocess.run(["make", "--no-print-directory", "links"], cwd=top, stdout=subprocess.DEVNULL, check=False)

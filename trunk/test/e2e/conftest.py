"""Fixtures: `weir` is a running server of this test alone, `folder` where everything of this test lands."""

import contextlib
import os
import re
import shutil

import pytest

from weir import SANITIZED, TOP, Weir

RUNS = TOP / "objs" / "test" / ("e2e-sanitizer" if SANITIZED else "e2e")


def pytest_collection_modifyitems(config, items):
    if "WEIR_FULL" in os.environ:
        return
    left_out = [item for item in items if item.get_closest_marker("full")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    setattr(item, f"report_{report.when}", report)
    if report.failed:
        path = RUNS / safe_name(item)
        for log in sorted(path.glob("*.log")) if path.is_dir() else []:
            report.sections.append((f"end of {log.relative_to(TOP)}", "\n".join(
                log.read_text(errors="replace").splitlines()[-25:])))
    return report


def safe_name(item):
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{item.path.stem}.{item.name}")


@pytest.fixture
def folder(request):
    """An empty folder below objs/test/; removed when the test passes."""
    path = RUNS / safe_name(request.node)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    request.node.user_properties.append(("folder", str(path.relative_to(TOP))))  # for the report that scripts/test reads
    yield path
    reports = [getattr(request.node, f"report_{when}", None) for when in ("setup", "call")]
    if all(report is None or report.passed for report in reports) and not getattr(request.node, "keep_folder", False):
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def new_weir(request, folder):
    """Makes servers (not started); each is ended with the test, and has to end well."""
    made = []

    def make(extra="", name="server"):
        place = folder / name if made else folder
        place.mkdir(exist_ok=True)
        made.append(Weir(place, extra))
        return made[-1]

    yield make
    errors = []
    with contextlib.ExitStack() as ends:  # of all of them, whatever becomes of one
        for server in made:
            ends.callback(server.kill)
        for server in made:
            try:
                server.stop()
            except AssertionError as error:
                errors.append(str(error))
    request.node.keep_folder = bool(errors)
    assert not errors, "\n".join(errors)


@pytest.fixture
def weir(request, new_weir):
    marker = request.node.get_closest_marker("config")
    return new_weir(marker.args[0] if marker else "").start()

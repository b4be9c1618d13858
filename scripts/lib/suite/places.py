"""Folders of the suite. Tests of the suite set others."""

from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
LOGS = TOP / "objs" / "test"
FUZZ = TOP / "trunk" / "fuzz"
TESTS = TOP / "trunk" / "test"
E2E = TESTS / "e2e"

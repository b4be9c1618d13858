"""The configurations of caches in doc/protocols/hls.md, with other ports and folders. The tests and scripts/cache-bench use these."""

import re
from pathlib import Path

from bench.problem import Problem

PAGE = Path(__file__).resolve().parents[3] / "doc/protocols/hls.md"


def blocks(title):
    """The fenced blocks below the heading `### title`, in order."""
    section = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^##)", PAGE.read_text(), re.S | re.M)
    return re.findall(r"^```\w*\n(.*?)^```$", section[1], re.S | re.M) if section else []


def recipe(title, replacements):
    """The blocks below the heading with other words. A Problem if a word to replace is in none of them."""
    texts = blocks(title)
    for old, new in replacements.items():
        if not any(old in text for text in texts):
            raise Problem(f"{PAGE.name}, {title}: '{old}' is in none of its blocks")
        texts = [text.replace(old, new) for text in texts]
    return texts

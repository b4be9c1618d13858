"""The progress line: what runs, and how long all of it still takes."""

import sys
import time


class Progress:
    """On a terminal one line that is written over; elsewhere a line per run."""

    def __init__(self, expected_seconds):
        self.expected = expected_seconds
        self.number = 0
        self.began = self.run_began = self.shown = time.monotonic()
        self.text = ""
        self.terminal = sys.stderr.isatty()

    def left_seconds(self):
        """By the plan, corrected by how long the runs so far took in truth."""
        done = sum(self.expected[:self.number - 1]) if self.number else 0
        pace = (self.run_began - self.began) / done if done else 1.0
        running = time.monotonic() - self.run_began if self.number else 0
        return max(0.0, sum(self.expected[max(0, self.number - 1):]) * pace - running)

    def left_text(self):
        seconds = self.left_seconds()
        return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"

    def begin(self, text):
        self.number += 1
        self.run_began, self.text, self.shown = time.monotonic(), text, 0
        self.tick()

    def tick(self):
        if self.terminal and time.monotonic() - self.shown >= 1:
            self.shown = time.monotonic()
            print(f"\r\033[K[{self.number}/{len(self.expected)}] {self.text}  {self.shown - self.run_began:.0f} s, "
                  f"{self.left_text()} left", end="", file=sys.stderr, flush=True)

    def done(self, text):
        start = "\r\033[K" if self.terminal else ""
        print(f"{start}[{self.number}/{len(self.expected)}] {self.text}: {text}", file=sys.stderr, flush=True)

    def finish(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

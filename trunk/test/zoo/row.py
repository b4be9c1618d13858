"""A row of the zoo."""

from dataclasses import dataclass, field


@dataclass
class Row:
    """A deformation by an input, read at some outputs."""

    deformation: str
    input: str
    outputs: list
    clip: object = None
    publishers: list = field(default_factory=list)
    readers: dict = field(default_factory=dict)
    found: dict = field(default_factory=dict)  # output: problems
    again: list = field(default_factory=list)  # outputs that were right at the second try

    @property
    def name(self):
        return f"{self.deformation}-{self.input}".replace("^", "-").replace("+", "-")

    def cell(self, output):
        return f"{self.deformation}/{self.input}/{output}"

"""What a run has found, as a table of text: rows are deformations by inputs, columns outputs."""

from dataclasses import dataclass, field

from zoo.chosen import reason_of
from zoo.outputs import OUTPUTS


@dataclass
class Summary:
    right: int = 0
    wrong: int = 0
    surprises: list = field(default_factory=list)  # cells that are wrong and not known to be
    mended: list = field(default_factory=list)     # cells that are known to be wrong and are right


def summary(rows, known):
    found = Summary()
    for row in rows:
        for output, problems in row.found.items():
            reason = reason_of(row.cell(output), known)
            if problems:
                found.wrong += 1
                if not reason:
                    found.surprises.append(row.cell(output))
            else:
                found.right += 1
                if reason:
                    found.mended.append(row.cell(output))
    return found


def text_of(rows, known):
    result, outputs = summary(rows, known), [output for output in OUTPUTS if any(output in row.found for row in rows)]
    width = max(len(f"{row.deformation}/{row.input}") for row in rows)
    lines = [" " * width + "  " + " ".join(outputs)]
    for row in rows:
        marks = []
        for output in outputs:
            problems = row.found.get(output)
            mark = "" if problems is None else "+" if not problems else "known" if reason_of(row.cell(output), known) else "WRONG"
            marks.append((mark if len(mark) <= len(output) else mark[0]).ljust(len(output)))
        lines.append(f"{row.deformation}/{row.input}".ljust(width) + "  " + " ".join(marks).rstrip())
    lines.append("")
    for row in rows:
        lines += [f"{row.cell(output)}: {'; '.join(problems)}" for output, problems in row.found.items() if problems]
    lines += ["", *(f"{row.cell(output)}: right at the second try" for row in rows for output in row.again)]
    lines += [*(f"{cell}: listed in known-wrong.txt, and right" for cell in result.mended)]
    lines.append(f"{result.right} cells right, {result.wrong} wrong, {result.wrong - len(result.surprises)} of them known")
    return "\n".join(lines) + "\n"

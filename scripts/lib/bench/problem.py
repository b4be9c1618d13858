"""What ends a benchmark with a sentence for the user instead of a trace."""


class Problem(Exception):
    pass

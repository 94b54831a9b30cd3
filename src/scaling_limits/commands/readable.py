"""What the commands print with: tables, and quantities in readable units."""

from collections.abc import Sequence


def aligned(lines: Sequence[Sequence[str]], *, words: int) -> str:
    """Lines of equally many cells as a table; the first `words` columns start at their left, the others end at their
    right.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column < words else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def size(count: float) -> str:
    """A number of bytes in a unit that it has less than a thousand of."""
    return scaled(count, ("B", "kB", "MB", "GB", "TB"))


def scaled(count: float, units: Sequence[str]) -> str:
    """A number in the first of these units, each a thousand of the one before, that it has less than a thousand of."""
    value, unit = float(count), units[0]
    for larger in units[1:]:
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == units[0] or value >= 9.95 else f"{value:.1f} {unit}"


def duration(seconds: float) -> str:
    """Seconds in the two largest units that they have at least one of, days at most."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    if seconds < 3570:
        return _pair(round(seconds), 60, "min", "s")
    if seconds < 86400 - 1800:
        return _pair(round(seconds / 60), 60, "h", "min")
    return _pair(round(seconds / 3600), 24, "d", "h")


def _pair(count: int, base: int, large: str, small: str) -> str:
    whole, rest = divmod(count, base)
    return f"{whole:,} {large} {rest} {small}" if rest else f"{whole:,} {large}"


def counted(number: int, noun: str) -> str:
    """A number of things, with a plural ending unless there is one."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"

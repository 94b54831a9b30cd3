"""Formatting of tables and of quantities in readable units."""

from collections.abc import Sequence


def aligned(lines: Sequence[Sequence[str]], *, text_columns: int) -> str:
    """Return lines with equally many cells as a table.

    The first `text_columns` columns are left-aligned, the others right-aligned.
    """
    from tabulate import tabulate

    sides = ["left" if column < text_columns else "right" for column in range(len(lines[0]))]
    text: str = tabulate(
        lines, tablefmt="plain", colalign=sides, disable_numparse=True, preserve_whitespace=True
    )
    return text


def size(count: float) -> str:
    """Return a number of bytes in the unit in which it is below one thousand."""
    return scaled(count, ("B", "kB", "MB", "GB", "TB"))


def scaled(count: float, units: Sequence[str]) -> str:
    """Return a number in the first unit in which it is below 1000; each unit is 1000 times the one before."""
    value, unit = float(count), units[0]
    for larger in units[1:]:
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == units[0] or value >= 9.95 else f"{value:.1f} {unit}"


def duration(seconds: float) -> str:
    """Return a time in its two largest units, at most days."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    if seconds < 3570:
        return _pair(round(seconds), 60, "min", "s")
    if seconds < 86400 - 1800:
        return _pair(round(seconds / 60), 60, "h", "min")
    return _pair(round(seconds / 3600), 24, "d", "h")


def _pair(count: int, base: int, large: str, small: str) -> str:
    quotient, rest = divmod(count, base)
    return f"{quotient:,} {large} {rest} {small}" if rest else f"{quotient:,} {large}"


def counted(number: int, noun: str) -> str:
    """Return a number with a noun in the singular or plural."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"

"""How a table in text is written: encoding, separator and decimal sign, told by its first lines.

Spreadsheets of many countries write semicolons between cells because the comma is their decimal sign; some save UTF-16.
"""

import re
from dataclasses import dataclass

_SEPARATORS = (",", ";", "\t", "|")
_COMMA = re.compile(r"\s*[+-]?\d+,\d+(?:[eE][+-]?\d+)?\s*")
_POINT = re.compile(r"\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*")
_LINES, _LONGEST = 20, 65536
_BOMS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True)
class Dialect:
    """``separator`` between cells; ``decimal`` sign of numbers, "." or ","."""

    separator: str = ","
    decimal: str = "."

    def cells(self, line: str) -> list[str]:
        """Cells of a line without quotes, blanks around them taken away."""
        return [cell.strip() for cell in line.split(self.separator)]

    def number(self, cell: str) -> float:
        """Value of a cell; raises a ValueError where it is none."""
        return float(cell.replace(",", ".") if self.decimal == "," else cell)


def encoding_of(head: bytes) -> str:
    """Name the encoding of a text by its first bytes (at least 64, if it has them): UTF-8, or UTF-16 and UTF-32.

    Without a byte order mark, UTF-16 shows in every other byte of plain letters and digits being 0.
    """
    for mark, name in _BOMS.items():
        if head.startswith(mark):
            return name
    sample = head[: len(head) // 2 * 2][:4096]
    if len(sample) >= 4:
        even, odd = sample[0::2], sample[1::2]
        if even.count(0) > 0.6 * len(even) and not odd.count(0):
            return "utf-16-be"
        if odd.count(0) > 0.6 * len(odd) and not even.count(0):
            return "utf-16-le"
    return "utf-8-sig"


def dialect_of(text: str) -> Dialect:
    """Tell how a table is written by its first lines.

    A separator that is equally often in each of them is taken if all commas are decimal signs then; otherwise the one
    that makes most cells.

    Parameters
    ----------
    text : the table, or its beginning.
    """
    lines = [line for line in text[:_LONGEST].splitlines() if line.strip()]
    if len(text) > _LONGEST and len(lines) > 1:
        lines.pop()  # cut
    lines = lines[:_LINES]
    even = [s for s in _SEPARATORS if lines and s in lines[0] and len({line.count(s) for line in lines}) == 1]
    for separator in even:
        cells = [cell for line in lines for cell in line.split(separator)]
        if separator != "," and all(_COMMA.fullmatch(c) for c in cells if "," in c):
            commas = any("," in c for c in cells) and not any(_POINT.fullmatch(c) for c in cells)
            return Dialect(separator, "," if commas else ".")
    return Dialect(max(even, key=lambda s: lines[0].count(s), default=","))

"""Let the API reference read the docstrings as they are written here: ``name : what it is, with shape and unit``.

The numpydoc reader takes what follows the colon for a type, and types stand in the signatures already.
"""

import re
from typing import Any

import griffe

ENTRY = re.compile(r"^(\*{0,2}\w+) : (.+)$")
RETURNS = re.compile(r"^(Returns|Yields)\n-+\n(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class PlainEntries(griffe.Extension):
    """Moves the text after the colon to where the reader looks for descriptions."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = rewritten(obj.docstring.value)


def rewritten(text: str) -> str:
    """Return a docstring with every entry in two lines, and what a function returns as a sentence."""
    lines, out, section = text.splitlines(), [], ""
    for k, line in enumerate(lines):
        after = lines[k + 1] if k + 1 < len(lines) else ""
        if after and set(after.strip()) == {"-"}:
            section = line
        entry = ENTRY.match(line) if section in ("Parameters", "Attributes") else None
        if entry is None:
            out.append(line)
        else:
            stop = "." if after[:4].isspace() and after.strip()[:1].isupper() and entry[2][-1] not in ".:;," else ""
            out += [entry[1], f"    {entry[2]}{stop}"]
    return returns_as_text("\n".join(out))


def returns_as_text(text: str) -> str:
    """Return a docstring that says what a function returns in a paragraph before its parameters."""
    found = RETURNS.search(text)
    if found is None:
        return text
    told = f"**{found[1]}:** {' '.join(line.strip() for line in found[2].splitlines())}"
    rest = text[: found.start()].rstrip() + "\n\n" + text[found.end() :].lstrip()
    before, head, after = rest.partition("\n\nParameters\n---")
    return f"{before}\n\n{told}{head}{after}"

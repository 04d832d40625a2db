"""The page as HTML: headings, words, tables, pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from ...core.files import atomic_path

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1150px; margin: 2rem auto; padding: 0 1rem; color: #1d2733 }
h1 { font-size: 1.6rem } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid #d5dde5 }
table { border-collapse: collapse; font-size: 13px; margin: .8rem 0; display: block; overflow-x: auto }
th, td { padding: 3px 9px; text-align: right; white-space: nowrap } th { border-bottom: 1px solid #8899a6 }
th:first-child, td:first-child { text-align: left } tr:nth-child(even) td { background: #f5f8fa }
td span { color: #7a8793 } img { max-width: 100% } p.note { color: #55626e } nav a { margin-right: .9rem }
"""


@dataclass
class Section:
    """One table or figure of the paper."""

    title: str
    parts: list[str] = field(default_factory=list)

    def say(self, text: str) -> "Section":
        """Add a paragraph."""
        self.parts.append(f'<p class="note">{escape(text)}</p>')
        return self

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> "Section":
        """Add a table; what stands in brackets in a cell is the paper's and shown paler."""
        top = "".join(f"<th>{escape(h)}</th>" for h in head)
        body = "".join("<tr>" + "".join(f"<td>{_cell(c)}</td>" for c in row) + "</tr>\n" for row in rows)
        self.parts.append(f"<table><thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table>")
        return self

    def picture(self, path: Path, folder: Path) -> "Section":
        """Add a picture that stands below the folder of the page."""
        where = path.relative_to(folder).as_posix()
        self.parts.append(f'<p><img src="{escape(where)}" alt="{escape(self.title)}"></p>')
        return self


def _cell(text: str) -> str:
    begin = text.find("(")
    if begin < 0 or not text.endswith(")"):
        return escape(text)
    return f"{escape(text[:begin])}<span>{escape(text[begin:])}</span>"


def write_page(path: Path, title: str, words: Sequence[str], sections: Sequence[Section]) -> None:
    """Write the page."""
    links = "".join(f'<a href="#s{k}">{escape(s.title)}</a> ' for k, s in enumerate(sections))
    lines = [f"<!doctype html>\n<html lang='en'><meta charset='utf-8'><title>{escape(title)}</title>"]
    lines += [f"<style>{_STYLE}</style>\n<h1>{escape(title)}</h1>", *(f"<p>{escape(w)}</p>" for w in words)]
    lines += [f"<nav>{links}</nav>"]
    for k, section in enumerate(sections):
        lines += [f'<h2 id="s{k}">{escape(section.title)}</h2>', *section.parts]
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join([*lines, "</html>"]), encoding="utf-8")


def beside(ours: str, paper: float | None, digits: int = 1) -> str:
    """Our number with the paper's in brackets; the paper's alone, or a dash, where one is missing."""
    if paper is None:
        return ours
    return f"{ours} ({paper:.{digits}f})"

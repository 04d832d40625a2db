"""Run the code of tutorials while the site is built, and show what it gives.

A block that begins with ``python exec`` is run in the page's own folder, with the names of the blocks before it; what
it prints, and the value of its last line, stand below it. A block ``bash exec`` is run by a shell in the same folder. A
block that fails, fails the build: a tutorial that is shown has worked.
"""

import ast
import base64
import contextlib
import html
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

BLOCK = re.compile(r"^```(python|bash) exec\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_outputs: dict[str, list[str]] = {}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Run the blocks of a page, and leave a mark where the output of each belongs."""
    if not BLOCK.search(markdown):
        return markdown
    begun, kept = time.monotonic(), _outputs.setdefault(page.file.src_uri, [])
    kept.clear()
    names: dict[str, Any] = {"__name__": "tutorial"}

    def run(block: re.Match[str]) -> str:
        language, code = block.groups()
        try:
            made = run_python(code, names) if language == "python" else run_bash(code)
        except Exception as error:
            raise PluginError(f"{page.file.src_uri}: {type(error).__name__}: {error}\nin\n{code}") from error
        kept.append(made)
        return f'```{language}\n{code}```\n\n<div class="output" id="output-{len(kept) - 1}"></div>'

    with tempfile.TemporaryDirectory() as folder, working_in(Path(folder)):
        text = BLOCK.sub(run, markdown)
    print(f"{page.file.src_uri}: ran {len(kept)} blocks in {time.monotonic() - begun:.0f} s")
    return text


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Put the outputs to their marks; Markdown would have read them as text of its own."""
    for k, made in enumerate(_outputs.get(page.file.src_uri, [])):
        html = html.replace(f'<div class="output" id="output-{k}"></div>', made)
    return html


def run_python(code: str, names: dict[str, Any]) -> str:
    """Run a block; returns what it printed and the value of its last line as HTML."""
    *body, last = ast.parse(code).body
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(body, []), "tutorial", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "tutorial", "eval"), names)
        else:
            exec(compile(code, "tutorial", "exec"), names)
    return text_html(printed.getvalue()) + ("" if value is None else value_html(value))


def run_bash(code: str) -> str:
    """Run a block with the programs of this Python in reach; returns what it printed as HTML."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        env={**os.environ, "PATH": path, "COLUMNS": "110"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}\n{done.stdout}")
    return text_html(done.stdout)


def text_html(text: str) -> str:
    """Return text as a block that is seen to be output."""
    return f'<pre class="output"><code>{html.escape(text.rstrip())}</code></pre>' if text.strip() else ""


def value_html(value: Any) -> str:
    """Return a value as a notebook would show it."""
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=90)
        data = base64.b64encode(picture.getvalue()).decode()
        return f'<p class="output"><img alt="figure" src="data:image/png;base64,{data}"></p>'
    if hasattr(value, "_repr_html_"):
        return f'<div class="output">{value._repr_html_()}</div>'
    return text_html(repr(value))


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Work in a folder for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)

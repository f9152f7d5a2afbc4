"""How to report a result in a paper: paragraphs and the table of its edges, as plain text, LaTeX or a Word file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..answers.registry import main_rows
from ..answers.run.methods_text import paragraphs
from ..errors import OptionError, StoreError, argument
from ..names import shown
from ..results.summary import Summary

SUFFIXES = {"text": ".txt", "latex": ".tex", "docx": ".docx"}
_MOST = 40  # rows of the table
_SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "−": "$-$", "→": r"$\to$", "–": "--", "†": r"\dag{}",
}  # fmt: skip


def write_manuscript(s: Summary, out: Path, to: str) -> Path:
    """Write the paragraphs and the table of a result.

    Raises
    ------
    OptionError
        If the library of Word files is not installed.
    StoreError
        If the file cannot be written.
    """
    if to == "docx" and find_spec("docx") is None:
        expected = "'html', 'text' or 'latex', as python-docx is not installed"
        raise OptionError(option="to", got=to, expected=expected, remedy="install bayesmrf[word]")
    head, rows, note = _table(s)
    try:
        if to == "docx":
            _write_word(s.title, paragraphs(s), head, rows, note, out)
        else:
            text = _latex(paragraphs(s), head, rows, note) if to == "latex" else _text(paragraphs(s), head, rows, note)
            out.write_text(text, encoding="utf-8")
    except OSError as e:
        raise StoreError(f"{argument('out')}: {out} cannot be written ({e}); give another path") from e
    return out


def _table(s: Summary) -> tuple[list[str], list[list[str]], str]:
    """Return heads, cells and note of the main table of a result: its first rows."""
    main = main_rows(s, _MOST)
    if main is None:
        return [], [], ""
    made, heads, cells = main
    more = f" The first {_MOST:,} of {len(made.frame):,} rows." if len(made.frame) > _MOST else ""
    return heads, [[shown(cell, None) for cell in row] for row in cells], f"{made.note}{more}"


def _text(texts: list[str], head: list[str], rows: list[list[str]], note: str) -> str:
    lines = ["\t".join(row) for row in [head, *rows]] if rows else []
    return "\n\n".join([*texts, "\n".join(lines), note]).rstrip() + "\n"


def _latex(texts: list[str], head: list[str], rows: list[list[str]], note: str) -> str:
    """Return a fragment for a document with the package booktabs."""
    parts = [escape_latex(text) for text in texts]
    if rows:
        lines = [" & ".join(map(escape_latex, row)) + r" \\" for row in [head, *rows]]
        body = "\n".join([lines[0], r"\midrule", *lines[1:]])
        columns = "l" + "r" * (len(head) - 1)
        parts.append(
            f"\\begin{{table}}\n\\centering\n\\caption{{{escape_latex(note)}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n"
            f"{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}"
        )
    return "% needs \\usepackage{booktabs}\n\n" + "\n\n".join(parts) + "\n"


def escape_latex(text: str) -> str:
    """Return a text in which no sign has a meaning in LaTeX."""
    return "".join(_SIGNS.get(sign, sign) for sign in shown(text, None))


def _write_word(title: str, texts: list[str], head: list[str], rows: list[list[str]], note: str, out: Path) -> None:
    """Write a Word file with a table in the style of the APA: lines above and below the head, and at the end."""
    from docx import Document
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    document: Any = Document()
    document.add_heading(title, 1)
    for text in texts:
        document.add_paragraph(text)
    if rows:
        table = document.add_table(rows=0, cols=len(head))
        for cells in [head, *rows]:
            for cell, text in zip(table.add_row().cells, cells, strict=True):
                cell.text = text

        def rule(row: Any, side: str) -> None:
            for cell in row.cells:
                borders = OxmlElement("w:tcBorders")
                line = OxmlElement(f"w:{side}")
                for name, value in (("val", "single"), ("sz", "6"), ("space", "0"), ("color", "000000")):
                    line.set(qn(f"w:{name}"), value)
                borders.append(line)
                cell._tc.get_or_add_tcPr().append(borders)

        rule(table.rows[0], "top")
        rule(table.rows[1], "top")
        rule(table.rows[-1], "bottom")
        document.add_paragraph(f"Note. {note}")
    document.save(str(out))

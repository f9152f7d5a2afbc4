"""Read the text of a file: plain or compressed, in the encoding that its first bytes indicate, or of another format."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from ..errors import DataError, StoreError
from ..names import shown
from .formats import WORKBOOK, Declared, text_of

EVIDENCE, TASK = "evidence.jsonl", "model_"  # a file of evidences; begins the name of the folder of a task with one
STDIN = Path("-")
_HEAD = 1000  # bytes in which control characters are looked for
_MOST = 2**29  # bytes of text: a small archive can contain more than fits into memory
_OPENED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda f: gzip.GzipFile(fileobj=f),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
_CSV = "give a text file with comma-separated values"
_REFUSED = {
    b"PK\x03\x04": "a ZIP archive in an archive",
    b"PK\x05\x06": "an empty ZIP archive",
    b"\x1f\x8b": "an archive in an archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"FEA1": "a Feather file of version 1",
    b"ORC": "an ORC file",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy file",
    b"MATLAB ": "a MATLAB file",
    b"SQLite format 3": "an SQLite database",
    b"\xd0\xcf\x11\xe0": "an Excel workbook of before 2007, or one with a password",
    b"ASCII SPSS PORT FILE": "a portable file of SPSS",
    b"HEADER RECORD*******": "a SAS file",
    bytes(12) + b"\xc2\xea\x81\x60": "a SAS file",
    b"\xff\xff\0\0\7\0\0\0": "a JMP file",
    **dict.fromkeys((b"@relation", b"@RELATION"), "a Weka file"),
    b"%PDF": "a PDF file",
    b"{\\rtf": "an RTF document",
    **dict.fromkeys((b"<html", b"<table", b"<!DOCTYPE", b"<?xml"), "an HTML or XML document"),
    b"\x80": "a pickle or another binary file",
}
# By what is at the beginning of a file, or, of SPSS, a few bytes later.
_BEGINNINGS = (
    (re.compile(rb"\s*>[^\n]*\n[A-Za-z*.~?-]+\s*(?:[\n>]|\Z)"), "an alignment of sequences (FASTA)"),
    (re.compile(rb"CLUSTAL|# STOCKHOLM|#NEXUS"), "an alignment of sequences"),
    (re.compile(rb".{0,32}ENCRYPTED(SAV|SPS|SPV)", re.DOTALL), "an SPSS file with a password"),
)
_ALIGNMENT = "make a table of it: a row for each sequence, a column for each position, and letters as answers"
_JSON = re.compile(rb"\s*[\[{]\s*[\[{\"]")
_REMEDIES = {
    "a SAS file": "in SAS, write the table as CSV (PROC EXPORT with DBMS=CSV)",
    "a portable file of SPSS": "in SPSS, save it as a .sav file",
    "a JMP file": "in JMP, export the table as CSV",
    "an alignment of sequences (FASTA)": _ALIGNMENT,
    "an alignment of sequences": _ALIGNMENT,
    "an SPSS file with a password": "in SPSS, open it with the password, and save it without one",
    "a MATLAB file": "in MATLAB, write the table as CSV (writetable)",
}
# By what a manifest contains, without hyphens.
_PROGRAMS = {
    b"jamoviarchiveversion": ("a jamovi file", "in jamovi, export the data as CSV (Export in the main menu)"),
    b"jasparchiveversion": ("a JASP file", "in JASP, export the data as CSV (Export Data in the main menu)"),
}
_MANIFESTS = ("META-INF/MANIFEST.MF", "meta", "manifest.json")
# By a file in the archive that they are.
_SHEETS = {
    "xl/workbook.bin": "a binary Excel workbook",
    "[Content_Types].xml": "a document of Office",
    "mimetype": "an OpenDocument file",
    "Index/Document.iwa": "a Numbers document",
    "Index.zip": "a Numbers document",
}
_CONTROL = bytes(set(range(1, 32)) - set(b"\t\n\v\f\r\x1b"))  # hardly in text; NUL is in UTF-16
_ENCODINGS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DAMAGED = (EOFError, OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)


def call(path: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STDIN else shown(path, 200)


def kind_of(path: Path) -> str:
    """Return the kind of a path: "file", "folder", "nothing", or the reason why it is unknown."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "nothing"
    except (OSError, ValueError) as e:  # a name too long, a loop of links, no permission; a NUL in the name
        return (e.strerror if isinstance(e, OSError) and e.strerror else "not a legal path").lower()
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "not a regular file"


def check_path(path: Path, prefix: str = "") -> None:
    """Refuse an invalid path, or one that is neither a file nor a folder."""
    kind = kind_of(path)
    if kind not in ("file", "folder", "nothing"):
        raise StoreError(f"{prefix}{call(path)}: {kind}; give another path")


def read_text(path: Path) -> str:
    """Read the text of a file; see `read_declared`."""
    return read_declared(path)[0]


def read_declared(path: Path) -> tuple[str, Declared]:
    """Read the text of a file, and what the file declares about columns.

    It is uncompressed if it is .gz, .bz2, .xz or .zip; "-" is standard input.

    Tables of Excel, SPSS, Stata, SAS transport, R, Parquet and Feather files become text (`bayesmrf.data.formats`).

    Raises
    ------
    DataError
        If there is no such file, or it is damaged, too large, or not text.
    """
    kind = "file" if path == STDIN else kind_of(path)
    if kind != "file":
        reason = {"nothing": "this file does not exist", "folder": "this file is a folder"}.get(kind, kind)
        raise DataError(f"{call(path)}: {reason}; give the path of a CSV file")
    try:
        with BytesIO(sys.stdin.buffer.read(_MOST + 1)) if path == STDIN else path.open("rb") as file:
            data = _unpacked(path, file)
    except _DAMAGED as e:
        reason = (e.strerror if isinstance(e, OSError) and e.strerror else str(e)) or "it is cut short"
        raise DataError(f"{call(path)}: this file cannot be read ({shown(reason, 200)}); check or repair it") from None
    if len(data) > _MOST:
        raise DataError(
            f"{call(path)}: this file contains more than {_MOST / 2**30:g} GiB of text; give a smaller table"
        )
    contents = text_of(call(path), data)
    if contents is None:
        _refuse(path, data)
        contents = _decoded(path, data), Declared()
    return contents


def _unpacked(path: Path, file: Any) -> bytes:
    """Return the contents of a file, or of the only file in an archive, and at most one byte more than allowed."""
    head = file.read(8)
    file.seek(0)
    if head.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(file) as archive:
            names = [
                i.filename for i in archive.infolist() if not i.is_dir() and not i.filename.startswith("__MACOSX/")
            ]
            if WORKBOOK in names:
                file.seek(0)
                return file.read(_MOST + 1)
            manifest = next((archive.open(name).read(_HEAD) for name in _MANIFESTS if name in names), b"")
            plain = manifest.lower().replace(b"-", b"")
            for mark, (program, remedy) in _PROGRAMS.items():
                if mark in plain:
                    raise _refused(path, program, remedy)
            what = next((what for name, what in _SHEETS.items() if name in names), None)
            if what is not None:
                raise DataError(f"{call(path)}: this is {what}; save the sheet as CSV")
            if len(names) != 1:
                raise DataError(f"{call(path)}: this archive contains {len(names)} files; give one with a single table")
            with archive.open(names[0]) as member:
                return member.read(_MOST + 1)
    opened = next((f for start, f in _OPENED.items() if head.startswith(start)), None)
    return (file if opened is None else opened(file)).read(_MOST + 1)


def _refuse(path: Path, data: bytes) -> None:
    """Refuse files whose first bytes show that they are not text."""
    what = "a tar archive" if data[257:262] == b"ustar" else None
    what = what or next((name for start, name in _REFUSED.items() if data.startswith(start)), None)
    what = what or next((name for form, name in _BEGINNINGS if form.match(data[:_HEAD])), None)
    what = what or ("a JSON file" if _JSON.match(data) else None)
    if what is not None:
        raise _refused(path, what, _REMEDIES.get(what, _CSV))


def _refused(path: Path, what: str, remedy: str) -> DataError:
    return DataError(f"{call(path)}: this is {what}, which is not supported; {remedy}")


def _decoded(path: Path, data: bytes) -> str:
    encoding = next((name for start, name in _ENCODINGS.items() if data.startswith(start)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as e:
        if data[:_HEAD].translate(None, _CONTROL) != data[:_HEAD]:
            raise _refused(path, "a binary file", _CSV) from None
        line = data[: e.start].count(b"\n") + 1
        raise DataError(f"{call(path)}: line {line} is not {encoding.removesuffix('-sig').upper()} text (byte "
                        f"0x{data[e.start]:02x}); save the file as UTF-8") from None  # fmt: skip
    nul = text.find("\0")
    if nul >= 0:
        raise DataError(f"{call(path)}: line {text.count(chr(10), 0, nul) + 1} contains a NUL character, so this is "
                        "not a text file in UTF-8; save it as UTF-8")  # fmt: skip
    return text.replace("\r\n", "\n").replace("\r", "\n")

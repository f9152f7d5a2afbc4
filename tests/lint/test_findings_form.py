"""Scripts of findings have the form that CONTRIBUTING.md describes."""

import re
import subprocess

from tests import ROOT

FOLDER = ROOT / "findings"
PARTS = ("One would guess", "What happens", "Why it matters here")


def broken(name, text):
    """List what is wrong with a script."""
    head = "".join(line for line in text.splitlines(True)[1:] if line.startswith("#")).split("set -euo")[0]
    installed = re.search(r"pip.? install --quiet (.*)", text)
    packages = installed[1].split(" 2>")[0].split() if installed else []
    found = {
        "no line that says bash": text.startswith("#!/usr/bin/env bash\n"),
        "head without its parts, in order": re.search(".*".join(PARTS), head, re.DOTALL),
        "not strict": "\nset -euo pipefail\n" in text,
        "no temporary folder that is removed": "mktemp -d" in text and "trap 'rm -rf" in text,
        "packages that are not pinned": packages and all("==" in p for p in packages),
        "uses this package": "bayesmrf" not in text,
        "fails at nothing": "assert " in text,
        "prints no version": re.search(r"print\(.*version", text),
    }
    return [f"{name}: {what}" for what, right in found.items() if not right]


def test_form():
    scripts = sorted(FOLDER.glob("*.sh"))
    assert len(scripts) >= 8
    assert [fault for s in scripts for fault in broken(s.name, s.read_text())] == []
    for script in scripts:
        assert subprocess.run(["bash", "-n", script], capture_output=True, check=False).returncode == 0, script


def test_a_script_without_it_is_found():
    """Negative control."""
    text = (FOLDER / "last_axis_by_list.sh").read_text()
    for change in (
        ("numpy==2.4.6", "numpy"),
        ("# What happens", "# It happens"),
        ("assert ", "print"),
        ("__version__", "x"),
    ):
        assert len(broken("it", text.replace(*change))) == 1, change


def test_the_page_of_surprises_lists_every_script_once():
    page = (ROOT / "docs" / "notes" / "surprises.md").read_text()
    listed = re.findall(r"\| `(\w+)` \|$", page, re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in FOLDER.glob("*.sh"))

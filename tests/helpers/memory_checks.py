"""Search compiled leaves for sums that depend on the distance of arrays in memory.

LLVM makes a vector loop and a scalar one of a loop that adds numbers up and writes into an array. Which of them runs is
decided by a ``diff.check``: whether the arrays are at least some hundred bytes apart. With fastmath the two loops round
in different ways.
"""

import re

import pytest

from bayesmrf.compiled.code_parts import is_part
from bayesmrf.compiled.leaves import Files

_REDUCED = re.compile(r"(%[\w.]+) = [a-z ]*call [a-z ]*(?:double|float) @llvm\.vector\.reduce\.f|(%bin\.rdx\w*) = f")
_PHI = re.compile(r"^\s+%[\w.]+ = phi (?:double|float) (.*)$", re.M)
_INCOMING = re.compile(r'\[ ([^,]+), %("?[\w.$-]+"?) \]')


def sums_that_depend_on_memory(code):
    """Names of the functions of optimised code of LLVM with such sums."""
    found = set()
    for function in re.split(r"^define ", code, flags=re.M)[1:]:
        if "diff.check" not in function:
            continue
        sums = {a or b for a, b in _REDUCED.findall(function)}
        parts = re.split(r'^("?[\w.$-]+"?):', function, flags=re.M)
        blocks = dict(zip(parts[1::2], parts[2::2], strict=True))
        checks = {name for name, block in blocks.items() if "diff.check" in block and "br i1" in block}
        for block in blocks.values():
            for phi in _PHI.findall(block):
                values, places = zip(*_INCOMING.findall(phi), strict=True)
                if sums & {*values} and checks & {*places}:
                    found.add(function[: function.index("(")].split("@")[-1])
    return found


@pytest.fixture(autouse=True, scope="session")
def compiled_sums():
    """Check each leaf that is compiled while tests run."""
    saves = Files.save_overload

    def check_and_save(self, signature, data):
        if not is_part(data):
            found = sums_that_depend_on_memory(data.library.get_llvm_str())
            assert not found, f"a loop adds numbers up and writes into an array, in {found}: make it two loops"
        saves(self, signature, data)

    Files.save_overload = check_and_save
    yield
    Files.save_overload = saves

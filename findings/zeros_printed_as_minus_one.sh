#!/usr/bin/env bash
# One would guess: states of zeros and ones that are given to a model of spins -1 and 1 are converted, as they seem to
# be when the sample set is printed, or are refused.
# What happens (dimod 0.12.23): nothing is converted. SampleSet.from_samples_bqm keeps 0 and 1, and the energies are
# those of spins that are 0; print shows -1 for 0, and change_vartype makes a proper set of zeros and ones of it, with
# the wrong energies. to_pandas_dataframe shows what is stored. bqm.energies takes any number. A set of spins given to
# a model of zeros and ones is taken, too.
# Why it matters here: tables of answers are 0 and 1, and a model of spins is compared with its energies. Differences
# of energies are wrong, and what is printed looks right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 dimod==0.12.23 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import dimod
import numpy as np

warnings.simplefilter("error")
print("dimod", dimod.__version__)
names = ["a", "b"]
model = dimod.BQM.from_ising({"a": 1.0, "b": 0.0}, {("a", "b"): -0.5})
answers = np.array([[0, 1], [0, 0]])
taken = dimod.SampleSet.from_samples_bqm((answers, names), model)
right = dimod.SampleSet.from_samples_bqm((2 * answers - 1, names), model)
print("what is printed of answers 0, 1:", taken, sep="\n")
print("stored:", taken.record.sample.tolist(), "energies", taken.record.energy.tolist())
print("energies of the spins that are printed:", right.record.energy.tolist())
binary = taken.change_vartype("BINARY", inplace=False)
again = model.change_vartype("BINARY", inplace=False).energies(binary)
print("as zeros and ones:", binary.record.sample.tolist(), binary.record.energy.tolist(), "energies", again.tolist())


def printed(found):
    return sorted(line[1:9] for line in str(found).splitlines()[1:-1])


assert printed(taken) == printed(right) and "-1 +1" in str(taken)
assert taken.vartype is dimod.SPIN and taken.record.sample.tolist() == answers.tolist()
assert taken.record.energy.tolist() == [0, 0] and right.record.energy.tolist() == [-0.5, -1.5]
assert binary.record.energy.tolist() == [0, 0] and again.tolist() == [-0.5, -1.5]
PYTHON

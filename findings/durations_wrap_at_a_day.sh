#!/usr/bin/env bash
# One would guess: a duration of an SPSS file, such as 26 hours of sleep in three nights (formats TIME and DTIME, of
# which the second has days), is read as a duration, as a number of seconds, or not at all.
# What happens (pyreadstat 1.3.7, also through pandas.read_spss): it becomes a datetime.time, and whole days are gone:
# 26 hours, and two days and two hours, are 02:00:00, as are two hours. Nothing is said. Only with
# disable_datetime_conversion=True are they seconds, and then dates are seconds, too.
# Why it matters here: answers that differ by days are one level. So durations are read as seconds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 pyreadstat==1.3.7 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import pandas as pd
import pyreadstat

warnings.simplefilter("error")
print("pandas", pd.__version__, "pyreadstat", pyreadstat.__version__)
seconds = [2 * 3600.0, 26 * 3600.0, 50 * 3600.0]
formats = {"time": "TIME8", "dtime": "DTIME12"}
pyreadstat.write_sav(pd.DataFrame(dict.fromkeys(formats, seconds)), "t.sav", variable_format=formats)
told = pyreadstat.read_sav("t.sav")[1].original_variable_types
seen = {
    "read_sav": pyreadstat.read_sav("t.sav")[0],
    "read_spss": pd.read_spss("t.sav"),
    "without conversion": pyreadstat.read_sav("t.sav", disable_datetime_conversion=True)[0],
}
print("formats in the file:", told)
for name, table in seen.items():
    print(f"{name}:", {column: table[column].astype(str).tolist() for column in table})

assert told == formats
for column in formats:
    assert seen["read_sav"][column].astype(str).tolist() == ["02:00:00"] * 3
    assert seen["read_spss"][column].nunique() == 1
    assert seen["without conversion"][column].tolist() == seconds
PYTHON

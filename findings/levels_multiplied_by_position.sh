#!/usr/bin/env bash
# One would guess: factors of a Markov network whose levels have names are multiplied by the names; or the network is
# refused if two factors have the levels of a variable in another order, as a product of two such factors and
# get_partition_function refuse it ("State name conflict").
# What happens (pgmpy 1.1.2): check_model finds nothing, and VariableElimination multiplies by position: "no" of one
# factor with "yes" of the other, and the answer has names, the wrong ones. The same network with the levels in one
# order has P(b = yes) = 0.6, this one 0.727. BeliefPropagation refuses it.
# Why it matters here: such networks are used to check marginals of a small network by another program. Factors that
# are made from tables have the levels in the order in which the table had them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 pgmpy==1.1.2 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.inference import BeliefPropagation, VariableElimination
from pgmpy.models import DiscreteMarkovNetwork

print("pgmpy", version("pgmpy"))
one, other = ["no", "yes"], ["yes", "no"]


def network(order):
    """Return a - b - c; the factor of b and c has the levels of b in an order, with the same value for each name."""
    values = {("no", "no"): 2, ("no", "yes"): 1, ("yes", "no"): 1, ("yes", "yes"): 5}
    model = DiscreteMarkovNetwork([("a", "b"), ("b", "c")])
    model.add_factors(
        DiscreteFactor(["a", "b"], [2, 2], [3, 1, 1, 2], state_names={"a": one, "b": one}),
        DiscreteFactor(["b", "c"], [2, 2], [values[b, c] for b in order for c in one],
                       state_names={"b": order, "c": one}),
    )
    return model


def asked(what):
    try:
        return what()
    except ValueError as e:
        return str(e).split(" detected")[0]


def probability(method, model):
    answer = method(model).query(["b"], show_progress=False)
    answer.normalize()
    return round(float(answer.get_value(b="yes")), 3)


seen = {}
for name, order in (("one order", one), ("other order", other)):
    model = network(order)
    seen[name] = [
        asked(model.check_model),
        asked(lambda: probability(VariableElimination, model)),
        asked(lambda: probability(BeliefPropagation, model)),
        asked(model.get_partition_function),
    ]
    print(f"{name}: check, P(b = yes) by elimination and by propagation, Z:", *seen[name], sep=" | ")

assert seen["one order"] == [True, 0.6, 0.6, 30.0]
assert seen["other order"] == [True, 0.727, "State name conflict", "State name conflict"]
PYTHON

#!/usr/bin/env bash
# One would guess: query, with "variables for which you want to compute the probability", returns probabilities,
# whether by VariableElimination or by BeliefPropagation, and whether the model is a Bayesian or a Markov network.
# What happens (pgmpy 1.1.2): of a Markov network VariableElimination returns sums of products of factors, which add
# up to Z, and with evidence to another number; BeliefPropagation returns probabilities of the same network. Of a
# Bayesian network both do. With joint=False it is so for each of the marginals.
# Why it matters here: these are the two exact methods by which marginals of a small network are compared. Where Z
# happens to be near 1, as after a normalization of the factors, the numbers look like probabilities.
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

import numpy as np

warnings.simplefilter("ignore")
from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
from pgmpy.inference import BeliefPropagation, VariableElimination
from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork

print("pgmpy", version("pgmpy"))
markov = DiscreteMarkovNetwork([("a", "b"), ("b", "c")])
markov.add_factors(
    DiscreteFactor(["a", "b"], [2, 2], [3, 1, 1, 2]), DiscreteFactor(["b", "c"], [2, 2], [2, 1, 1, 5])
)
bayes = DiscreteBayesianNetwork([("a", "b")])
bayes.add_cpds(
    TabularCPD("a", 2, [[0.3], [0.7]]), TabularCPD("b", 2, [[0.9, 0.4], [0.1, 0.6]], evidence=["a"], evidence_card=[2])
)
total = {}
for name, model, evidence in (("Markov", markov, {"c": 1}), ("Bayesian", bayes, {"b": 1})):
    for method in (VariableElimination, BeliefPropagation):
        m = method(model)
        answers = [m.query(["a"], evidence=given, show_progress=False).values for given in ({}, evidence)]
        total[name, method.__name__] = [round(float(np.sum(v)), 6) for v in answers]
        print(f"{name}, {method.__name__}: of a {answers[0].tolist()}, given {evidence} {answers[1].tolist()}")
marginals = VariableElimination(markov).query(["a", "b"], joint=False, show_progress=False)
print("joint=False:", {name: f.values.tolist() for name, f in marginals.items()}, "Z:", markov.get_partition_function())

assert total["Markov", "VariableElimination"] == [30.0, 19.0]
assert markov.get_partition_function() == 30
assert total["Markov", "BeliefPropagation"] == [1.0, 1.0]
assert total["Bayesian", "VariableElimination"] == total["Bayesian", "BeliefPropagation"] == [1.0, 1.0]
assert all(f.values.sum() == 30 for f in marginals.values())
PYTHON

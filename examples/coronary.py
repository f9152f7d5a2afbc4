"""Risk factors for coronary heart disease of 1,841 men: groups of pairs with equal dependence.

    python examples/coronary.py [DRAWS]

All 15 pairs are edges, and each factor has a field for its frequency. The graph is narrow, so the sampler is exact.
"""

import sys

from bayesmrf import GroupedMRF, datasets, results

FACTORS = {
    "A": "smoking",
    "B": "strenuous mental work",
    "C": "strenuous physical work",
    "D": "systolic blood pressure > 140",
    "E": "ratio of lipoproteins > 3",
    "F": "family anamnesis",
}


def main(n_draws: int = 1000) -> None:
    table = datasets.coronary()
    states, counts = table[list(FACTORS)], table["count"]
    est = GroupedMRF("complete", method="exact", n_draws=n_draws, random_state=1)
    est.fit(states, sample_weight=counts)

    print("agreement  MLE    group  edge (0.5: no effect)")
    for e in est.agreement_.argsort()[::-1]:
        u, v = est.edges_[e]
        first, second = list(FACTORS.values())[u], list(FACTORS.values())[v]
        print(f"{est.agreement_[e]:9.3f}{est.mle_[e]:7.3f}{est.groups_[e]:6d}   {first} - {second}")
    print("\nnumber of groups and its posterior probability")
    print(est.n_groups_.to_string(header=False))
    print("\nconvergence of the chains")
    print(results.diagnostics(est.posterior_, n_worst=2).round(3))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

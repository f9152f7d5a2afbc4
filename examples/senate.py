"""Votes of the United States Senate: learn a graph and its groups from 2005, and evaluate them on 2006.

    BAYESMRF_DATA=folder python examples/senate.py [DRAWS]

The folder contains senate109_votes.csv.gz. 279 edges are learnt by neighbourhood selection; exact inference would be
slow on such a graph, so the sampler uses particles. The score is the log likelihood of a vote, in nats. Votes are like
those before them, and `fit` warns of that.
"""

import sys

from bayesmrf import GroupedMRF, MaximumLikelihoodMRF, datasets


def main(n_draws: int = 1000) -> None:
    train, test = datasets.senate109(1), datasets.senate109(2)
    est = GroupedMRF("learn:279", n_draws=n_draws, n_warmup=n_draws // 5, n_chains=2, random_state=1).fit(train)
    blind = MaximumLikelihoodMRF(est.edges_, random_state=1).fit(train)

    print("mean log likelihood of a vote            first session (train)   second session (test)")
    for name, fitted in (("maximum likelihood, without groups", blind), ("posterior over groups", est)):
        print(f"{name:37s}{fitted.score(train):22.3f}{fitted.score(test):24.3f}")
    print("\nnumber of groups and its posterior probability")
    print(est.n_groups_.to_string(header=False))
    print("\npairs of senators with the largest and the smallest agreement")
    order = est.agreement_.argsort()
    for e in [*order[:-6:-1], *order[4::-1]]:
        first, second = (train.columns[u] for u in est.edges_[e])
        print(f"{est.agreement_[e]:6.3f}  group {est.groups_[e]}  {first} - {second}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

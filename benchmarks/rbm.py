"""Speed of persistent contrastive divergence on restricted Boltzmann machines.

Run ``python benchmarks/rbm.py [--turns N]``. One epoch over 10,000 rows with 100 visible and 100 hidden units, compared
with `BernoulliRBM` of scikit-learn: the same batches, as many chains as rows of a batch, one sweep per update.
scikit-learn is timed on float64 and on float32 tables. One thread (also for BLAS); the versions alternate.
"""

from __future__ import annotations

import numpy as np
from sklearn.neural_network import BernoulliRBM
from threadpoolctl import threadpool_limits
from timing import arguments, duration, machine, table, turns

from bayesmrf.learning.rbm_persistent import PersistentRBM
from bayesmrf.models import RestrictedBoltzmann

N_VISIBLE, N_HIDDEN, N_ROWS, RATE = 100, 100, 10_000, 0.01


def main() -> None:
    n_turns = arguments(__doc__, turns=5).turns
    rng = np.random.default_rng()
    states = (rng.random((N_ROWS, N_VISIBLE)) < rng.random(N_VISIBLE)).astype(np.int8)
    print(machine())
    rows = [("rows of a batch", "bayesmrf", "sklearn float64", "it / bayesmrf", "sklearn float32", "it / bayesmrf")]
    for batch in (10, 100):
        learner = PersistentRBM(RestrictedBoltzmann(N_VISIBLE, N_HIDDEN), n_chains=batch, batch_size=batch)
        start, rates = learner.start(states, rng), np.full(N_ROWS // batch, RATE)
        theirs = BernoulliRBM(N_HIDDEN, learning_rate=RATE, batch_size=batch, n_iter=1)
        tables = {name: states.astype(name) for name in ("float64", "float32")}
        found = turns(
            {"bayesmrf": lambda learner=learner, start=start, rates=rates: learner.fit(start, states, rates, rng)}
            | {name: lambda theirs=theirs, X=X: theirs.fit(X) for name, X in tables.items()},
            n_turns,
            rng,
        )
        ours = found["bayesmrf"].cpu
        cells = [cell for name in tables for cell in (duration(found[name].cpu), f"{found[name].cpu / ours:.1f}")]
        rows.append((str(batch), duration(ours), *cells))
    print(table(*rows))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()

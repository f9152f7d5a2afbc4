"""A 6 x 6 grid with edges of three kinds: estimates with groups, and by maximum likelihood, next to the truth."""

import numpy as np

from bayesmrf import GroupedMRF, graphs, plots
from bayesmrf.engines import Elimination
from bayesmrf.models import Agreement

rng = np.random.default_rng(1)
graph = graphs.grid(6, 6)
group = rng.integers(3, size=graph.n_edges)
truth = np.array([0.75, 0.55, 0.3])[group]
model, engine = Agreement(graph), Elimination()
states = engine.sample(model, np.log(truth / (1 - truth)), engine.prepare(model), 500, rng)
est = GroupedMRF(graph, fields=False, n_draws=500, n_warmup=100, n_chains=2, random_state=1, progress=False).fit(states)
axes = plots.plot_estimates(truth, {"maximum likelihood": est.mle_, "groups": est.agreement_}, group)
axes.figure.savefig("alike.png", dpi=150)

"""Weights of the edges between six risk factors, with 90 % intervals and Bayes factors."""

from bayesmrf import SpikeSlabMRF, datasets

table = datasets.coronary()
est = SpikeSlabMRF(n_draws=2000, n_chains=2, random_state=1, progress=False)
est.fit(table.drop(columns="count"), sample_weight=table["count"])
est.plot("edges", "forest.png", shown="all")

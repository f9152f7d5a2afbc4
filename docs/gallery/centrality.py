"""Strength, betweenness and predictability of each risk factor, with 95 % intervals."""

from bayesmrf import SpikeSlabMRF, datasets

table = datasets.coronary()
est = SpikeSlabMRF(n_draws=2000, n_chains=2, random_state=1, progress=False)
est.fit(table.drop(columns="count"), sample_weight=table["count"])
est.plot("statistics", "centrality.png", width="page")

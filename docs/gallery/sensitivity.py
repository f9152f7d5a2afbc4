"""How the evidence depends on the prior: shares of edges in each category, under other priors."""

from bayesmrf import SpikeSlabMRF, datasets, plots

table = datasets.coronary()
men, count = table.drop(columns="count"), table["count"]
est = SpikeSlabMRF(method="exact", n_draws=1000, n_chains=2, random_state=1, progress=False)
est.fit(men, sample_weight=count).sensitivity(men, sample_weight=count)
plots.plot_sensitivity(est).figure.savefig("sensitivity.png", dpi=150)

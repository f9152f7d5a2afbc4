"""The network of eighteen symptoms of ADHD in 355 children."""

from bayesmrf import SpikeSlabMRF, datasets

children = datasets.adhd().drop(columns="group")
est = SpikeSlabMRF(method="exact", n_draws=500, n_chains=2, random_state=1, progress=False).fit(children)
est.plot("network", "symptoms.png", width="page")

"""Evidence for and against each edge between six risk factors."""

from bayesmrf import SpikeSlabMRF, datasets

NAMES = {
    "A": "smoking", "B": "mental work", "C": "physical work", "D": "blood pressure", "E": "lipoproteins", "F": "family",
}  # fmt: skip
table = datasets.coronary()
est = SpikeSlabMRF(n_draws=2000, n_chains=2, random_state=1, progress=False)
est.fit(table.drop(columns="count"), sample_weight=table["count"])
est.plot("evidence", "evidence.png", layout="circle", labels=NAMES)

"""Five symptoms in children without and with a diagnosis: both networks, their differences, and the evidence."""

from bayesmrf import CompareMRF, datasets

table = datasets.adhd()
items = table[["avoid", "closeatt", "distract", "forget", "instruct"]]
est = CompareMRF(n_draws=1000, n_chains=2, random_state=1, progress=False).fit(items, groups=table["group"])
est.plot("networks", "two_groups.png", width="page")

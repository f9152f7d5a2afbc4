"""What follows what: lagged edges of a simulated diary, as arrows and loops."""

import numpy as np
import pandas as pd

from bayesmrf import PanelMRF

rng, n, names = np.random.default_rng(1), 150, ["sleep", "mood", "appetite", "energy"]
lagged = np.array([[1.2, 1.5, 0, 0], [0, 1.2, 0, 0], [0, 0, 1.2, 0], [0, -1.5, 0, 1.2]])  # from rows to columns
x, waves = rng.integers(0, 2, (n, 4)), []
for wave in range(1, 8):
    waves.append(pd.DataFrame(x, columns=names).assign(id=range(n), wave=wave))
    x = (rng.random(x.shape) < 1 / (1 + np.exp(0.8 - x @ lagged))).astype(int)
est = PanelMRF(n_draws=1000, n_chains=2, random_state=1, progress=False).fit(pd.concat(waves), person="id", wave="wave")
est.plot("panel", "diary.png", width="page")

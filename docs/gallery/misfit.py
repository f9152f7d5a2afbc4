"""A misfit: an interaction of three columns, which the checks find."""

import warnings

import numpy as np

from bayesmrf import SpikeSlabMRF, plots

rng = np.random.default_rng(1)
answers = rng.integers(0, 2, size=(400, 5))
both = rng.random(400) < 0.6
answers[both, 2] = answers[both, 0] == answers[both, 1]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the finding is a warning, too
    est = SpikeSlabMRF(n_draws=1000, n_chains=2, random_state=1, progress=False).fit(answers)
plots.plot_checks(est).figure.savefig("misfit.png", dpi=150)

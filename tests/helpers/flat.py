"""Estimators of flat options, so that tables of tests may mix options of kernels, priors and runs."""

from dataclasses import fields

from bayesmrf import BayesianMRF, LabelFieldMRF
from bayesmrf.engines import Phases
from bayesmrf.families import Custom, families_of
from bayesmrf.inference.registry import engine_of
from bayesmrf.methods import KERNELS
from bayesmrf.priors import Normal, WeightsAndBiases


def bayesian(*graph, kernel="auto", model="boltzmann", engine="auto", hidden_engine=None, **options):
    """A BayesianMRF whose options of the kernel, of the model and of a normal prior are given by their own names.

    Options that other kernels alone have are left out.
    """
    own = set() if kernel == "auto" else {f.name for f in fields(KERNELS.row(kernel).options)}
    every = {f.name for row in KERNELS for f in fields(row.options)}
    scale = options.pop("prior_scale", None)
    bias = options.pop("bias_scale", None)
    if scale is not None or bias is not None:
        scale = 1.0 if scale is None else scale
        options["prior"] = WeightsAndBiases(scale, scale if bias is None else bias)
    if "n_states" in options and callable(model):
        model = Custom(model, options.pop("n_states"))
    elif "n_states" in options:
        model = families_of("BayesianMRF").build(model, {"n_states": options.pop("n_states")})
    return BayesianMRF(
        *graph,
        model=model,
        kernel="auto" if kernel == "auto" else KERNELS.build(kernel, {k: v for k, v in options.items() if k in own}),
        engine=engine if hidden_engine is None else Phases(engine, hidden_engine),
        **{k: v for k, v in options.items() if k not in every},
    )


def label_field(kernel="exchange", engine="swendsen-wang", n_sweeps=20, n_particles=16, **options):
    """A LabelFieldMRF whose options of the kernel and of the chains are given by their own names."""
    own = {f.name for f in fields(KERNELS.row(kernel).options)}
    chains = {"n_sweeps": n_sweeps, "n_chains": n_particles, "moves": "swendsen-wang"}
    named = isinstance(engine, str) and engine in ("swendsen-wang", "persistent", "brief")
    exact = engine in ("exact", "mean-field", "tree", "bethe")
    first = engine_of(engine, **chains) if named else engine
    if "prior_scale" in options:
        options["prior"] = Normal(options.pop("prior_scale"))
    return LabelFieldMRF(
        kernel=KERNELS.build(kernel, {k: v for k, v in options.items() if k in own}),
        engine=engine if exact else Phases(first, engine_of("persistent", **chains)),
        **{k: v for k, v in options.items() if k not in own},
    )

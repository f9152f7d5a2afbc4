"""The legal values of the options that no class declares yet, by the class that has them and by name.

Options that are declared at their fields (`bayesmrf.declare.option`) have no row here.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import in_python
from .rule import (
    BETA,
    CONSTANT,
    COUNT,
    COVARIANCE,
    ENGINE,
    EXECUTOR,
    FACTORY,
    FLAG,
    GAMMA,
    MOMENTUM,
    PATH,
    POSITIVE,
    PROBABILITY,
    ROOT,
    SCALE,
    SCALES,
    SEED,
    SLAB,
    STATES,
    STEP,
    Rule,
    choice,
    constant_of,
    either,
    increases_from_0,
    instance,
    integer,
    is_integer,
    is_ladder,
    is_list,
    is_number,
    number,
    optional,
)

MOST_DRAWS = 10**12  # beyond the memory of any machine, which `run.sample` checks
MOST_CHAINS = 10_000
SCALED = "Metropolis", "Langevin", "Hamiltonian", "Exchange", "AuxiliaryVariable"  # kernels whose steps have a scale


OPTIONS: dict[str, Rule] = {
    # Runs
    "n_draws": integer(1, MOST_DRAWS),
    "n_warmup": integer(0, MOST_DRAWS),
    "n_chains": integer(1, MOST_CHAINS),
    "thin": integer(1, MOST_DRAWS),
    "random_state": SEED,
    "n_jobs": Rule(
        f"an integer other than 0{in_python(', or None')}",
        lambda v: v is None or (is_integer(v) and v != 0 and abs(v) <= 2**20),
        (None, 1, -1),
        "-1 is one job for each core",
    ),
    "executor": EXECUTOR,
    "progress": FLAG,
    "overwrite": FLAG,
    "checkpoint": optional(either(PATH, instance("runs.store", "Checkpoint"), expected="a path or a Checkpoint")),
    "Checkpoint.path": PATH,
    "Checkpoint.chain": optional(integer(0, MOST_CHAINS - 1)),
    # Steps and their sizes
    "step_size": STEP,
    "epsilon": STEP,
    "momentum": MOMENTUM,
    "width": number(0, 10, ends="(]", good=(0.01, 10)),
    "sigma_q": STEP,
    **dict.fromkeys(("precondition", "adjusted", "corrected", "restart"), FLAG),
    **dict.fromkeys(("n_iterations", "n_pcd", "n_pcd_start", "n_scans", "n_sweeps", "n_walk"), COUNT),
    "n_adapt": integer(0),
    "n_jumps": integer(0, 10**6),
    "n_pairs": integer(1, 10**6),
    "n_proposals": integer(1, 10**4),
    "n_particles": STATES,
    # Models
    "n_states": Rule(
        "'auto' or an integer from 2 to 127",
        lambda v: (isinstance(v, str) and v == "auto") or (is_integer(v) and 2 <= v <= 127),
        ("auto", 2, 127),
    ),
    "families.Custom.make": FACTORY,
    "families.Custom.n_states": Rule(
        f"'auto' or an integer from 2 to 127{in_python(', or None')}",
        lambda v: v is None or OPTIONS["n_states"].allows(v),
        ("auto", 2, None),
    ),
    **{f"{model}.n_states": integer(2, 127) for model in ("potts.Potts", "symmetric.Symmetric", "ordinal.Ordinal")},
    "ordinal.Ordinal.sizes": Rule(
        "integers >= 2, one for each node, or None",
        lambda v: v is None or (isinstance(v, tuple) and all(is_integer(k) and k >= 2 for k in v)),
        (None,),
    ),
    "families.Ordinal.unused": choice("keep", "merge"),
    "families.Ordinal.neutral": Rule(
        "None, or a mapping of names of columns to scores >= 0",
        lambda v: v is None or (isinstance(v, Mapping) and all(is_number(s) and 0 <= s <= 127 for s in v.values())),
        (None,),
    ),
    "ordinal.Ordinal.neutral": Rule(
        "None, or a score >= 0 or None for each node",
        lambda v: v is None or (isinstance(v, tuple) and all(s is None or (is_number(s) and 0 <= s <= 127) for s in v)),
        (None,),
    ),
    **{
        f"{model}.scores": Rule(
            "increasing numbers from 0, or None",
            lambda v: v is None or increases_from_0(v),
            (None, (0, 1, 3)),
        )
        for model in ("families.Ordinal", "ordinal.Ordinal")
    },
    "fields": FLAG,
    "n_hidden": integer(1, 10**5, "without hidden units the model is 'independent'"),
    "n_visible": integer(1, 10**5),
    # 2^12 joint states are summed for each row.
    "PairwiseTarget.n_hidden": integer(0, 12, "a restricted Boltzmann machine takes more"),
    # Priors
    "prior_scale": SCALE,
    "bias_scale": SCALE,
    "scale": SCALES,
    "WeightsAndBiases.scale": SCALE,
    **{f"{kernel}.scale": optional(ROOT) for kernel in SCALED},
    "covariance": COVARIANCE,
    **{f"{prior}.{name}": constant_of(f"{prior}(a, b)") for prior in ("Beta", "LogisticBeta") for name in "ab"},
    **{f"Gamma.{name}": constant_of("Gamma(shape, rate)") for name in ("shape", "rate")},
    "DirichletProcess.alpha": either(CONSTANT, GAMMA),
    "DirichletProcess.base": instance("priors", "Beta", "Normal", "MultivariateNormal"),
    "DirichletProcess.density": optional(either(PROBABILITY, BETA)),
    "SpikeSlab.density": either(PROBABILITY, BETA),
    "SpikeSlab.slab": SLAB,
    "SpikeSlab.biases": optional(instance("priors", "LogisticBeta")),
    # Estimators
    "engine": ENGINE,
    "Hamiltonian.step_size": optional(STEP),
    "Hamiltonian.target": PROBABILITY,
    "Hamiltonian.max_depth": integer(1, 20),
    "n_samples": number(0, 1e15, ends="[)", good=(0, 1)),  # observations of a kernel; 0 samples the prior
    # Engines
    **{f"{engine}.n_jobs": integer(1, 2**10) for engine in ("PersistentMLE", "Persistent", "Brief", "Gibbs")},
    **{f"{engine}.n_chains": STATES for engine in ("PersistentMLE", "PersistentRBM", "Persistent")},
    "Brief.n_chains": optional(STATES),
    "PersistentMLE.bound": POSITIVE,
    "FromExact.n_samples": STATES,
    "moves": choice("gibbs", "swendsen-wang"),
    "max_iterations": COUNT,
    "max_sweeps": COUNT,
    "max_nodes": integer(1, 40),
    "max_bytes": POSITIVE,
    "tolerance": POSITIVE,
    "damping": MOMENTUM,
    "initial_message": number(0, 10, ends="[]", good=(0.0, 1.0)),
    # Evidence
    "temperatures": Rule(
        "an integer from 1 to 10,000,000, or an array of numbers that rise from 0 to 1",
        lambda v: (is_integer(v) and 1 <= v <= 10**7) or is_ladder(v),
        (1, (0, 0.5, 1)),
    ),
    "ladder": either(
        choice("cubic", "linear"),
        number(0, 10, ends="(]", good=(3, 10)),
        expected="'cubic', 'linear' or a power in (0, 10]",
    ),
    "dynamics": choice("auto", "exact", "brief"),
    "log_z": choice("auto", "exact", "ais"),
    "n_leapfrog": integer(1, 10**6),
    "n_folds": integer(2, 10**6),
    "max_rounds": COUNT,
    "n_prior": optional(STATES),
    "stiffness": number(0, 4, good=(0.2,)),
    "n_checks": integer(0, 10**7),
    **{f"{m}.n_chains": integer(2, 10**7, "their spread gives the standard error") for m in ("AIS", "AtMode")},
    "PosteriorSampler.n_warmup": optional(integer(0, MOST_DRAWS)),
    "PosteriorSampler.thin": optional(integer(1, MOST_DRAWS)),
    "ModeSearch.n_states": optional(STATES),
    "HarmonicMean.variant": Rule("1 or 4", lambda v: is_integer(v) and v in (1, 4), (1, 4)),
    "BridgeSampling.variant": choice("geometric", "optimal"),
    "AtMode.search": instance("evidence.mode", "ModeSearch"),
    "FromDraws.sampler": instance("evidence.posterior_draws", "PosteriorSampler"),
    "Laplace.scales": FLAG,
    "penalised": FLAG,
    "evidence.prior_scale": optional(SCALE),
    # Use of what was fitted
    "draw.n_samples": integer(1, 10**9),
    "probability": PROBABILITY,
    "level": number(0, 1, ends="(]", good=(0.95, 1)),
    "average": choice("bayes", "mean"),
    "edges": Rule("a list of edges, by name or by number", is_list, ([0],)),
    "nodes": Rule("a list of nodes, by name or by number", is_list, ([0],)),
}

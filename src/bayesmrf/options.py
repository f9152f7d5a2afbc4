"""The options of estimators, kernels, engines, priors and commands: what each may be, in one table.

scikit-learn's ``_parameter_constraints`` are not used: they are private, cover estimators only, and write messages of
their own that the command line could not bring to its flags.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from numbers import Integral, Rational, Real
from typing import Any

from .errors import OptionError

MOST_DRAWS = 10**12  # beyond the memory of any machine, which `run.sample` looks at
MOST_CHAINS = 10_000


@dataclass(frozen=True)
class Rule:
    """What an option may be.

    Attributes
    ----------
    expected : str
        In words, as they follow "must be".
    allows : callable
        Whether a value is legal.
    good : tuple
        Legal values at the ends of the range, for tests.
    remedy : str
    """

    expected: str
    allows: Callable[[Any], bool]
    good: tuple[Any, ...] = ()
    remedy: str = ""

    def check(self, option: str, value: Any) -> None:
        """Raise OptionError unless ``value`` is legal."""
        if not self.allows(value):
            raise OptionError(option=option, got=value, expected=self.expected, remedy=self.remedy)


def is_integer(value: Any) -> bool:
    """Whether ``value`` is an integer of Python or numpy; booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a finite number that a double can hold; booleans and fractions are not."""
    real: bool = is_integer(value) or (isinstance(value, Real) and not isinstance(value, Rational))
    return real and -_MOST <= value <= _MOST  # no comparison with NaN is true


def is_count(text: str) -> bool:
    """Whether a text is an integer >= 0 of at most nine digits; str.isdigit takes exponents and any length."""
    return text.isascii() and text.isdecimal() and len(text) <= 9


_MOST = 1e300


def integer(least: int, most: int | None = None, remedy: str = "") -> Rule:
    """An integer, at least ``least``."""
    expected = f"an integer >= {least}" if most is None else f"an integer from {least} to {most:,}"
    top = 2**62 if most is None else most
    return Rule(expected, lambda v: is_integer(v) and least <= v <= top, (least,), remedy)


def number(low: float, high: float = math.inf, *, ends: str = "()", good: Sequence[float] = ()) -> Rule:
    """A finite number between ``low`` and ``high``; ``ends`` says which of them belong to it, as in ``"[)"``."""
    bottom, top = (">=" if ends[0] == "[" else ">"), ends[1]
    expected = f"a finite number {bottom} {low:g}"
    if math.isfinite(high):
        expected = f"a number in {ends[0]}{low:g}, {high:g}{top}"

    def allows(value: Any) -> bool:
        if not is_number(value):
            return False
        return (low <= value if ends[0] == "[" else low < value) and (value <= high if top == "]" else value < high)

    return Rule(expected, allows, tuple(good))


POSITIVE = number(0, good=(0.5,))
PROBABILITY = number(0, 1, good=(0.5,))


def choice(*values: Any) -> Rule:
    """One of a few values."""
    # Without ==, which arrays and data frames answer with one answer for each element.
    return Rule(
        f"one of {', '.join(map(repr, values))}",
        lambda v: isinstance(v, str | bool | None) and any(v == w for w in values),
        values,
    )


FLAG = Rule("True or False", lambda v: type(v).__name__ in ("bool", "bool_"), (False, True))  # numpy's, too


def either(*rules: Rule, expected: str = "", remedy: str = "") -> Rule:
    """What one of several rules allows."""
    words = expected or " or ".join(r.expected for r in rules)
    return Rule(words, lambda v: any(r.allows(v) for r in rules), sum((r.good for r in rules), ()), remedy)


NONE = Rule("None", lambda v: v is None, (None,))


def optional(rule: Rule) -> Rule:
    """The same, or None."""
    return either(rule, NONE, remedy=rule.remedy)


def pair(what: str) -> Rule:
    """Two numbers from 1e-6 to 1e6, as a tuple or list."""
    return Rule(
        f"two numbers in [1e-06, 1e+06], {what}",
        lambda v: isinstance(v, tuple | list) and len(v) == 2 and all(map(CONSTANT.allows, v)),
        ((1.0, 2.0), (1e-6, 1e6)),
    )


def instance(module: str, *names: str) -> Rule:
    """An object of a class of this package, which is imported when a value is looked at."""

    def allows(value: Any) -> bool:
        return any(c.__module__ == f"bayesmrf.{module}" and c.__name__ in names for c in type(value).__mro__)

    return Rule(" or ".join(f"a {module}.{name}" for name in names), allows)


PATH = Rule("a path", lambda v: isinstance(v, str | os.PathLike) and len(os.fspath(v)) > 0)


def _is_seed(value: Any) -> bool:
    if value is None or (is_integer(value) and value >= 0):
        return True
    import numpy as np

    return isinstance(value, np.random.SeedSequence | np.random.Generator | np.random.RandomState)


SEED = Rule("an integer >= 0, a numpy SeedSequence, Generator or RandomState, or None", _is_seed, (0, 2**100, None))


def check(options: Mapping[str, Any], *owners: str) -> None:
    """Raise OptionError at the first option whose value is not legal.

    Parameters
    ----------
    options : mapping of str to object
        Values by name. Names without a row are not looked at.
    *owners : str
        Classes whose options these are. Where a name means something of its own there, its row is "owner.name".
    """
    for name, value in options.items():
        rule = row(name, *owners)
        if rule is not None:
            rule.check(name, value)


def row(name: str, *owners: str) -> Rule | None:
    """Return the rule of an option, that of the first of its owners which has one of its own."""
    return next((OPTIONS[key] for key in (*(f"{o}.{name}" for o in owners), name) if key in OPTIONS), None)


def check_fields(record: Any) -> None:
    """Check the fields of a dataclass, in its ``__post_init__``."""
    check({f.name: getattr(record, f.name) for f in fields(record)}, *_lineage(record))


def check_params(estimator: Any) -> None:
    """Check the parameters of an estimator, at the start of its ``fit``."""
    check(estimator.get_params(deep=False), *_lineage(estimator))


def _lineage(record: Any) -> list[str]:
    return [c.__name__ for c in type(record).__mro__]


def _are_scales(value: Any, low: float = 1e-8, high: float = 1e8) -> bool:
    """Whether this is a standard deviation, or one for each parameter."""
    import numpy as np

    if SCALE.allows(value):
        return True
    if not isinstance(value, list | tuple | np.ndarray):
        return False
    try:
        scales = np.asarray(value)
    except ValueError:  # rows of different lengths
        return False
    one_each = scales.dtype.kind in "if" and scales.ndim == 1 and scales.size > 0
    return one_each and bool(((scales >= low) & (scales <= high)).all())


def _is_root(value: Any) -> bool:
    """Whether this is a regular triangular matrix."""
    import numpy as np

    triangle = isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim == 2
    square = triangle and value.shape[0] == value.shape[1] > 0 and bool((abs(value) <= 1e100).all())
    return square and bool((value.diagonal() > 0).all()) and bool((value == np.triu(value)).all())


def _is_covariance(value: Any) -> bool:
    """Whether this is a symmetric matrix with eigenvalues > 0."""
    import numpy as np

    try:
        c = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    square = c.ndim == 2 and c.shape[0] == c.shape[1] > 0 and bool((abs(c) <= 1e100).all())
    return square and np.allclose(c, c.T) and bool(np.linalg.eigvalsh(c).min() > 0)


def _is_prior(value: Any) -> bool:
    from .priors import Prior

    return isinstance(value, Prior)


def _is_slab(value: Any) -> bool:
    """Whether this is the prior of the weights of edges that exist."""
    import numpy as np

    from .priors import Cauchy, Gamma, Normal

    return isinstance(value, Gamma) or (isinstance(value, Normal | Cauchy) and np.ndim(value.scale) == 0)


def _reads_as_slab(value: Any) -> bool:
    from .priors import read_slab

    try:
        return _is_slab(read_slab(value))
    except OptionError:
        return False


def _is_list(value: Any) -> bool:
    if isinstance(value, str | bytes | Mapping | Set):
        return False
    try:
        return len(list(value)) > 0
    except TypeError:
        return False


def _is_ladder(value: Any) -> bool:
    """Whether numbers rise from 0 to 1."""
    import numpy as np

    if isinstance(value, str | bytes) or np.ndim(value) != 1 or len(value) < 2:
        return False
    ladder = np.asarray(value)
    return ladder.dtype.kind in "if" and ladder[0] == 0 and ladder[-1] == 1 and bool((np.diff(ladder) > 0).all())


def _constant(prior: str) -> Rule:
    return replace(CONSTANT, expected=f"{CONSTANT.expected} in {prior}")


COUNT = integer(1, 10**9)  # sweeps, iterations, ...: time, and no memory
STATES = integer(1, 10**7)  # chains or particles in memory
STEP = number(0, 1e100, good=(1e-3, 1))  # squares of it, and sums of these, remain finite
SCALE = number(1e-8, 1e8, ends="[]", good=(1e-8, 0.5, 1e8))  # curvatures of prior and data add up without a loss
CONSTANT = number(
    1e-6, 1e6, ends="[]", good=(1e-6, 1.0, 1e6)
)  # of Beta and Gamma priors, whose draws and integrals hold
MOMENTUM = number(0, 1, ends="[)", good=(0, 0.9))
BETA = either(instance("priors", "Beta"), pair("(a, b) of a Beta prior"))
DENSITY = either(
    BETA, PROBABILITY, expected="a number in (0, 1), or two in [1e-06, 1e+06], (a, b) of a Beta prior, or priors.Beta"
)
GAMMA = either(instance("priors", "Gamma"), pair("(shape, rate) of a Gamma prior"))
PRIOR = Rule("a density with log_density and gradient, such as priors.Normal", _is_prior)
SLAB = Rule(
    '"cauchy:SCALE", "normal:SCALE", or SHAPE and RATE > 0 of a Gamma prior of the precision, or one of '
    "priors.Cauchy, Normal and Gamma",
    _reads_as_slab,
    ("cauchy:2.5", "normal", (5.0, 5.0), "5,5"),
    'an example is "cauchy:2.5"',
)
COVARIANCE = Rule("a symmetric matrix whose eigenvalues are > 0", _is_covariance)
SCALES = Rule("a number in [1e-08, 1e+08], or an array of them", _are_scales, (1.0, (0.5, 2.0)))
ROOT = either(
    Rule("an array of finite numbers > 0", lambda v: _are_scales(v, 1e-100, 1e100) and not is_number(v)),
    Rule("an upper triangular matrix with a diagonal > 0", _is_root),
)

OPTIONS: dict[str, Rule] = {
    # Runs
    "n_draws": integer(1, MOST_DRAWS),
    "n_warmup": integer(0, MOST_DRAWS),
    "n_chains": integer(1, MOST_CHAINS),
    "thin": integer(1, MOST_DRAWS),
    "random_state": SEED,
    "n_jobs": Rule(
        "an integer other than 0, or None",
        lambda v: v is None or (is_integer(v) and v != 0 and abs(v) <= 2**20),
        (None, 1, -1),
        "-1 is one job for each core",
    ),
    "progress": FLAG,
    "overwrite": FLAG,
    "checkpoint": optional(PATH),
    # Steps and their sizes
    "step_size": STEP,
    "epsilon": STEP,
    "alpha": MOMENTUM,
    "width": number(0, 10, ends="(]", good=(0.01, 10)),
    "sigma_q": STEP,
    "precondition": FLAG,
    "adjusted": FLAG,
    "corrected": FLAG,
    "restart": FLAG,
    "n_adapt": integer(0),
    "n_iterations": COUNT,
    "n_jumps": integer(0, 10**6),
    "n_pairs": integer(1, 10**6),
    "n_pcd": COUNT,
    "n_pcd_start": COUNT,
    "n_proposals": integer(1, 10**4),
    "n_scans": COUNT,
    "n_sweeps": COUNT,
    "n_walk": COUNT,
    "n_particles": STATES,
    "SpikeSlabLangevin.n_particles": integer(2, 10**7),
    # Models
    "n_states": Rule(
        "'auto' or an integer from 2 to 127",
        lambda v: (isinstance(v, str) and v == "auto") or (is_integer(v) and 2 <= v <= 127),
        ("auto", 2, 127),
    ),
    "Potts.n_states": integer(2, 127),
    "Symmetric.n_states": integer(2, 127),
    "fields": FLAG,
    "n_hidden": integer(1, 10**5, "without hidden units the model is 'independent'"),
    "n_visible": integer(1, 10**5),
    # 2^12 joint states are summed for each row.
    "PairwiseTarget.n_hidden": integer(0, 12, "a restricted Boltzmann machine takes more"),
    # Priors
    "BayesianMRF.prior": optional(PRIOR),
    "evidence.prior": optional(PRIOR),
    **{f"{kernel}.prior": PRIOR for kernel in ("Metropolis", "Langevin", "Exchange", "AuxiliaryVariable")},
    "prior_scale": SCALE,
    "bias_scale": SCALE,
    "density": DENSITY,
    "slab": SLAB,
    "base": BETA,
    "scale": SCALES,
    **{f"{kernel}.scale": optional(ROOT) for kernel in ("Metropolis", "Langevin", "Exchange", "AuxiliaryVariable")},
    "covariance": COVARIANCE,
    **{f"{prior}.{name}": _constant(f"{prior}(a, b)") for prior in ("Beta", "LogisticBeta") for name in "ab"},
    **{f"Gamma.{name}": _constant("Gamma(shape, rate)") for name in ("shape", "rate")},
    "DirichletProcess.alpha": either(CONSTANT, instance("priors", "Gamma")),
    "DirichletProcess.base": instance("priors", "Beta", "Normal", "MultivariateNormal"),
    "DirichletProcess.density": optional(either(PROBABILITY, instance("priors", "Beta"))),
    "SpikeSlab.density": either(PROBABILITY, instance("priors", "Beta")),
    "SpikeSlab.slab": Rule("Gamma(shape, rate), Normal(scale) or Cauchy(scale), of one scale", _is_slab),
    # Estimators
    "BayesianMRF.model": choice("boltzmann", "ising", "agreement", "potts"),
    "BayesianMRF.kernel": choice("metropolis", "langevin", "exchange", "auxiliary-variable", "pseudo-posterior"),
    "BayesianMRF.engine": choice(
        "exact",
        "enumeration",
        "elimination",
        "mean-field",
        "tree",
        "bethe",
        "brief",
        "persistent",
        "from-exact",
        "gibbs",
        "swendsen-wang",
        "cftp",
        "pseudo-likelihood",
    ),
    "BayesianMRF.hidden_engine": choice(None, "exact", "mean-field", "tree", "bethe", "persistent", "cftp"),
    "BayesianMRF.bias_scale": optional(SCALE),
    "BayesianMRF.step_size": optional(STEP),
    "BayesianMRF.epsilon": optional(STEP),
    "BayesianMRF.precondition": choice(None, False, True),
    "BayesianMRF.start": choice("mode", "zero"),
    "BayesianMRF.n_particles": optional(STATES),
    "GroupedMRF.model": choice("agreement", "potts", "symmetric"),
    "GroupedMRF.method": choice("auto", "tree", "exact", "particle", "auxiliary-variable", "stripped-beta"),
    "GroupedMRF.fields": choice(False, True, "grouped"),
    "GroupedMRF.inner": choice("gibbs", "exact"),
    "GroupedMRF.spike": FLAG,
    "GroupedMRF.alpha": either(
        CONSTANT,
        GAMMA,
        expected="a number in [1e-06, 1e+06], or two, (shape, rate) of a Gamma prior, or priors.Gamma",
    ),
    "GroupedMRF.prior_scale": either(
        SCALES, COVARIANCE, expected="a number in [1e-08, 1e+08], an array of them, or a covariance matrix"
    ),
    "GroupedMRF.n_particles": optional(STATES),
    "SpikeSlabMRF.method": choice("one-edge", "exact", "langevin"),
    "SpikeSlabMRF.n_particles": optional(STATES),
    "SpikeSlabMRF.n_sweeps": optional(COUNT),
    "SpikeSlabMRF.epsilon": optional(STEP),
    "SpikeSlabMRF.alpha": optional(MOMENTUM),
    "SpikeSlabMRF.width": optional(number(0, 10, ends="(]", good=(0.01, 10))),
    "SpikeSlabMRF.n_iterations": optional(COUNT),
    "LabelFieldMRF.kernel": choice("exchange", "metropolis", "langevin"),
    "LabelFieldMRF.engine": choice("exact", "mean-field", "tree", "bethe", "swendsen-wang", "brief", "persistent"),
    "LabelFieldMRF.step_size": optional(STEP),
    "LabelFieldMRF.epsilon": optional(STEP),
    "RBM.n_chains": STATES,
    "RBM.prior_scale": optional(SCALE),
    "learning_rate": STEP,
    "batch_size": STATES,
    "n_steps": integer(1, 10**8),
    "n_samples": number(0, 1e15, ends="[)", good=(0, 1)),  # observations of a kernel; none leave the prior
    # Engines
    "PersistentMLE.n_jobs": integer(1, 2**10),
    "PersistentMLE.n_chains": STATES,
    "PersistentMLE.bound": POSITIVE,
    "PersistentRBM.n_chains": STATES,
    "Persistent.n_chains": STATES,
    "Persistent.n_jobs": integer(1, 2**10),
    "Brief.n_chains": optional(STATES),
    "Brief.n_jobs": integer(1, 2**10),
    "Gibbs.n_jobs": integer(1, 2**10),
    "FromExact.n_samples": STATES,
    "AnnealedImportanceSampling.n_chains": integer(2, 10**7),
    "moves": choice("gibbs", "swendsen-wang"),
    "max_iterations": COUNT,
    "max_sweeps": COUNT,
    "max_nodes": integer(1, 40),
    "max_bytes": POSITIVE,
    "tolerance": POSITIVE,
    "damping": MOMENTUM,
    # Evidence
    "temperatures": Rule(
        "an integer from 1 to 10,000,000, or an array of numbers that rise from 0 to 1",
        lambda v: (is_integer(v) and 1 <= v <= 10**7) or _is_ladder(v),
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
    "evidence.n_chains": integer(1, MOST_CHAINS),
    "evidence.n_warmup": optional(integer(0, MOST_DRAWS)),
    "evidence.thin": optional(integer(1, MOST_DRAWS)),
    "evidence.n_states": optional(STATES),
    "evidence.prior_scale": optional(SCALE),
    # Use of what was fitted
    "draw.n_samples": integer(1, 10**9),
    "probability": PROBABILITY,
    "level": number(0, 1, ends="(]", good=(0.95, 1)),
    "average": choice("bayes", "mean"),
    "edges": Rule("a list of edges, by name or by number", _is_list, ([0],)),
    "group": Rule("a list of nodes, by name or by number", _is_list, ([0],)),
}

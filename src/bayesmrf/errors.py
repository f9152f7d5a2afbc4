"""Errors and warnings.

Every message says, in one sentence, which argument is wrong, what came, what is wanted, and the remedy.
"""


class BayesMRFError(ValueError):
    """Base class of all errors that a user can mend; the command line prints them and exits with code 2."""


class DataError(BayesMRFError):
    """The states (the table of observations) cannot be used."""


class GraphError(BayesMRFError):
    """The graph cannot be used."""


class TooWideError(GraphError):
    """Exact inference on the graph would need more memory than allowed."""


class OptionError(BayesMRFError):
    """An option, or a combination of options, is not legal."""


class StoreError(BayesMRFError):
    """A result or checkpoint on disk cannot be read or written."""


class DivergenceError(BayesMRFError, FloatingPointError):
    """A run left the finite numbers; the draws so far are in the error's attribute ``draws``."""


class BayesMRFWarning(UserWarning):
    """Base class of all warnings."""


class ApproximatePosteriorWarning(BayesMRFWarning):
    """A sampler's stationary law is further from the posterior than it should be."""


class BoundaryWarning(BayesMRFWarning):
    """A maximum likelihood estimate lies at infinity and was bounded."""


class ConstantColumnWarning(BayesMRFWarning):
    """A column of the data never varies."""


class ConvergenceWarning(BayesMRFWarning):
    """An iterative method stopped before it reached its tolerance."""

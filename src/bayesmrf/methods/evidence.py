"""Methods of evidence, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..plugins import OpenRegistry, imported

MODE, DRAWS = "the mode of the posterior", "draws from the posterior"


@dataclass(frozen=True)
class EvidenceRow:
    """A method of evidence and its description."""

    name: str
    home: Any  # its class, or where it is, such as "bayesmrf.evidence.laplace:Laplace"
    # Exact; E[exp(log_evidence)] = p(X); consistent in the number of draws if these are exact; approximate; a score
    # that ranks models but is not an estimate of the evidence.
    kind: Literal["exact", "unbiased", "consistent", "approximate", "score"]
    needs: str  # what has to be computed first
    sentence: str  # what the method computes
    given: Mapping[str, Any] = field(default_factory=dict)  # options in place of the defaults of the class
    stream: int | None = None  # of random numbers, as in earlier versions; None hashes the name

    @property
    def options(self) -> Any:
        """The class."""
        return imported(self.home)

    @property
    def method(self) -> Any:
        """The method with its options."""
        return self.options(**self.given)


EVIDENCE = OpenRegistry(
    "method",
    "evidence",
    [
        EvidenceRow("laplace", "bayesmrf.evidence.laplace:Laplace", "approximate", MODE,
                    "A Gaussian at the mode, corrected for overlapping and for equivalent modes.", stream=0),
        EvidenceRow("laplace0", "bayesmrf.evidence.laplace:Laplace", "approximate", MODE, "A Gaussian at the mode.",
                    {"corrected": False, "scales": False}, stream=1),
        EvidenceRow("bridge-geometric", "bayesmrf.evidence.bridge:BridgeSampling", "consistent", DRAWS,
                    "Bridge to the prior by the geometric mean.", {"variant": "geometric"}, stream=6),
        EvidenceRow("bridge-optimal", "bayesmrf.evidence.bridge:BridgeSampling", "consistent", DRAWS,
                    "Bridge to the prior with the smallest error.", stream=7),
        EvidenceRow("ais", "bayesmrf.evidence.annealed:AIS", "unbiased", "the exact Z at every step",
                    "Annealed importance sampling of the parameters, the reference if it is feasible.", stream=9),
        EvidenceRow("conjugate", "bayesmrf.evidence.conjugate:Conjugate", "exact",
                    "parameters that are independent given the data",
                    "Closed form or quadrature, for independent nodes and forests of agreements.", stream=11),
    ],
)  # fmt: skip

"""Quantities of the posterior from integrals of structures."""

from __future__ import annotations

from math import log

import numpy as np

LN10 = log(10.0)


def summarize(
    labels: list[str], log_priors: np.ndarray, logs: np.ndarray, means: np.ndarray, squares: np.ndarray
) -> dict:
    """Return posterior means, standard deviations, inclusions, Bayes factors and evidences.

    Parameters
    ----------
    labels : list of str
        Of structures: a digit for each edge, or a group of each edge and "." where it is absent.
    log_priors, logs : (n_structures,) array
        Log prior probability, and log integral of likelihood times prior of the parameters.
    means, squares : (n_structures, n_parameters) array
        Posterior means and mean squares given the structure.
    """
    joint = log_priors + logs
    evidence = np.logaddexp.reduce(joint)
    p = np.exp(joint - evidence)
    mean = p @ means
    return {
        "log_evidence": np.array([evidence]),
        "structure_log_evidence": logs,
        "structure_probability": p,
        "mean": mean,
        "sd": np.sqrt(np.maximum(p @ squares - mean**2, 0)),
        **edges(labels, log_priors, joint),
    }


def edges(labels: list[str], log_priors: np.ndarray, joint: np.ndarray) -> dict:
    """Return inclusions and log10 Bayes factors (posterior odds over prior odds) of edges that may be absent."""
    if not labels or not set("".join(labels)) & {".", "0"} or len(labels) == 1:
        return {}
    absent = "." if any("." in label for label in labels) else "0"
    present = np.array([[c != absent for c in label] for label in labels])
    if absent == "0" and any(set(label) - {"0", "1"} for label in labels):
        return {}  # partitions without absent edges
    inclusion, factors = [], []
    evidence = np.logaddexp.reduce(joint)
    for is_present in present.T:
        odds = []
        for log_p in (joint, log_priors):
            with np.errstate(divide="ignore"):
                yes = np.logaddexp.reduce(log_p[is_present]) if is_present.any() else -np.inf
                no = np.logaddexp.reduce(log_p[~is_present]) if (~is_present).any() else -np.inf
            odds.append((yes, no))
        inclusion.append(np.exp(odds[0][0] - evidence))
        may_differ = is_present.any() and (~is_present).any()
        factors.append((odds[0][0] - odds[0][1] - odds[1][0] + odds[1][1]) / LN10 if may_differ else np.nan)
    return {"inclusion": np.array(inclusion), "log10_bayes_factor": np.array(factors)}


def together(labels: list[str], p: np.ndarray) -> dict:
    """Return probabilities that pairs of edges share a parameter, and of the number of different parameters."""
    r = len(labels[0])
    share = [
        sum(q for label, q in zip(labels, p, strict=True) if label[i] == label[j] != ".")
        for i in range(r)
        for j in range(i + 1, r)
    ]
    number = np.zeros(r + 1)
    for label, q in zip(labels, p, strict=True):
        number[len(set(label) - {"."})] += q
    return {"co_clustering": np.array(share), "number_of_groups": number}

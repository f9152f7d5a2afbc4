"""How to report a run: paragraphs for a paper, of any kind of result, from what is stored with it."""

from __future__ import annotations

import json
from typing import Any

from ...names import shown
from ...results.bayes_factors import LIMITS
from ...results.categories import cut_offs, stability_sentence, words_in
from ...results.predictive_checks import GROUP, checks_in
from ...results.summary import Summary, count

_SOFTWARE = "The bayesmrf developers, bayesmrf: Bayesian learning in Markov random fields, version {}"


def paragraphs(s: Summary) -> list[str]:
    """Return three paragraphs: data, model, priors and sampler; convergence, results and checks; references."""
    version = str(_versions(s).get("bayesmrf", "unknown"))
    references = f"References: {s.source}. {_SOFTWARE.format(version)}."
    return [" ".join(_methods(s, version)), " ".join(_results(s)), references]


def methods_text(s: Summary) -> str:
    """Return the paragraphs as a text, with an empty line between two of them."""
    return "\n\n".join(paragraphs(s))


def _versions(s: Summary) -> dict[str, Any]:
    versions: dict[str, Any] = json.loads(s.attrs.get("versions", "{}"))
    return versions


def _methods(s: Summary, version: str) -> list[str]:
    model = shown(str(s.attrs.get("model", "unknown")))
    python = f", Python {_versions(s)['python']}" if "python" in _versions(s) else ""
    seed = f", seed {s.attrs['seed']}" if str(s.attrs.get("seed", "")).isdigit() else ""
    text = [
        f"We fitted a Bayesian Markov random field (model: {model}) to {s.size} of {count(len(s.names), 'node')} with "
        f"bayesmrf {version}{python}{seed}."
    ]
    if s.n_missing:
        text.append(f"{count(s.n_missing, 'missing value was', 'missing values were')} drawn given the other values.")
    if s.options:
        text.append(f"Options and priors: {'; '.join(f'{name} {value}' for name, value in s.options.items())}.")
    return [*text, f"We ran {s.draws_sentence}, by the method {s.method_sentence}.", _exactness(s)]


def _exactness(s: Summary) -> str:
    if s.kind.startswith("exact"):
        return "Sampling is from the exact posterior; only Monte Carlo error remains."
    text = f"The posterior is approximated: {s.reason}." if s.reason else "The posterior is approximated."
    if "bank_mean" not in s.attrs:
        return text
    changes = f"by {s.attrs['bank_mean']:.3f} on average and {s.attrs['bank_largest']:.3f} at most"
    return f"{text} Here inclusion probabilities change {changes}."


def _results(s: Any) -> list[str]:
    text = [s.verdict.sentences[0][1]]
    if s.headline:
        text.append(f"{s.headline}.")
    if s.evidence:
        text.append(f"Categories are by Bayes factors ({cut_offs(words_in(s.tree), LIMITS).rstrip('.')}).")
        text += [sentence] if (sentence := stability_sentence(s.evidence, s.counted)) else []
    frame = checks_in(s.tree) if GROUP in s.tree.children else None
    if frame is not None:
        n_outside, about = int(frame["outside"].sum()), s[GROUP].attrs
        outcome = "none deviated" if not n_outside else f"{n_outside:,} deviated"
        text.append(
            f"We compared {count(len(frame), 'summary statistic')} with {int(about['n_replicates']):,} data sets "
            f"simulated from the posterior: {outcome} significantly, adjusted for their number."
        )
    return text

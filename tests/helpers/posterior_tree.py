"""Posteriors made up for the tests of what is shown of them."""

import numpy as np
import xarray as xr

from bayesmrf import graphs, results
from bayesmrf.models import Agreement, Boltzmann
from bayesmrf.results.blocks import Columns
from bayesmrf.runs.run import Draws


def posterior_tree(
    rng, graph=None, *, n_chains=2, n_draws=50, n_groups=3, fields=False, complete=True, inclusion=None, **attrs
):
    """Draws in which edge c is mostly in group c mod n_groups, and exists with probability inclusion[c].

    With fields="grouped", node i is mostly in group i mod 2.
    """
    graph = graphs.grid(3, 3) if graph is None else graph
    model = Agreement(graph, fields)
    shape = (n_chains, n_draws, graph.n_edges)
    groups = np.where(rng.random(shape) < 0.95, np.arange(graph.n_edges) % n_groups, n_groups)
    level = np.linspace(2, -1, n_groups + 1)[groups] + 0.1 * rng.standard_normal(shape)
    field = 0.1 * rng.standard_normal((n_chains, n_draws, graph.n_nodes if fields else 0))
    extra, constant = {}, {"mle": rng.standard_normal(model.n_features)}
    if inclusion is not None:
        absent = rng.random(shape) >= np.asarray(inclusion)
        level[absent], groups[absent], constant = 0.0, -1, {}
        extra["density"] = rng.beta(5, 5, shape[:2])
        attrs |= {"density": [5.0, 5.0]}
    if fields == "grouped":
        extra["field_groups"] = np.where(rng.random(field.shape) < 0.95, np.arange(graph.n_nodes) % 2, 2)
        field += np.array([0.8, -0.3, 0.2])[extra["field_groups"]]
    values = {
        "theta": np.concatenate([level, field], axis=2),
        "groups": groups,
        "n_groups": np.array([[len(set(g) - {-1}) for g in chain] for chain in groups]),
        "alpha": np.ones((n_chains, n_draws)),
    }
    dims = {"theta": ("feature",), "groups": ("edge",), "n_groups": (), "alpha": ()}
    dims |= {"density": (), "field_groups": ("node",)}
    seed = {"entropy": 7, "spawn_key": [], "spawned": 0}
    draws = Draws(values | extra, dims, "made up", 10, 1, tuple(range(n_chains)), complete, 1.5, seed)
    about = {
        "model": "agreement",
        "method": "stripped-beta",
        "kind": "approximate (stripped Beta likelihood)",
        "fields": fields,
        "alpha": 1.0,
    }
    return results.to_datatree(
        draws,
        model,
        attrs=about | {"base": [1.0, 1.0], "data_hash": "abc"} | attrs,
        observed={"statistics": np.zeros(model.n_features), "n_samples": 100.0},
        constant=constant,
    )


def parameter_tree(rng, graph=None, model=Boltzmann, *, n_chains=2, n_draws=50, complete=True, **attrs):
    """Independent normal draws around parameters that alternate in sign; every third is close to zero."""
    model = model(graphs.complete(4, tuple("abcd")) if graph is None else graph)
    n = model.n_features
    mean = np.where(np.arange(n) % 3 == 2, 0.02, np.linspace(0.5, 2.5, n)) * (-1) ** np.arange(n)
    theta = mean + 0.1 * rng.standard_normal((n_chains, n_draws, n))
    seed = {"entropy": 7, "spawn_key": [], "spawned": 0}
    draws = Draws(
        {"theta": theta}, {"theta": ("feature",)}, "metropolis", 10, 1, tuple(range(n_chains)), complete, 1.5, seed
    )
    about = {"model": model.name, "method": "metropolis", "engine": "bethe", "kind": "approximate (bethe: approximate)"}
    about |= {"step_size": 0.1, "epsilon": 0.01, "n_particles": None, "prior": "Normal", "prior_scale": [1.0] * n}
    return results.to_datatree(
        draws,
        model,
        attrs=about | {"data_hash": "abc"} | attrs,
        observed={"statistics": np.zeros(n), "n_samples": 100.0},
    )


def structure_tree(rng, graph=None, make=Boltzmann, *, inclusion=None, n_chains=2, n_draws=50, complete=True, **attrs):
    """Edges that exist with a given probability, in each draw anew, with weights around 2 and -2 by turns."""
    model = make(graphs.complete(5, tuple("abcde")) if graph is None else graph)
    r, edge_of = model.n_edges, np.repeat(np.arange(model.n_edges), np.diff(model.edge_starts))
    share = np.linspace(0.02, 0.98, r) if inclusion is None else np.asarray(inclusion)
    included = rng.random((n_chains, n_draws, r)) < share
    noise = 0.1 * rng.standard_normal((n_chains, n_draws, len(edge_of)))
    weights = included[..., edge_of] * (2 * (-1.0) ** edge_of + noise)
    biases = 0.1 * rng.standard_normal((n_chains, n_draws, model.n_features - len(edge_of)))
    values = {
        "theta": np.concatenate([weights, biases], axis=2),
        "included": included,
        "n_edges": included.sum(axis=2),
        "density": rng.beta(5, 5, (n_chains, n_draws)),
        "slab_scale": rng.gamma(5, 0.2, (n_chains, n_draws)),
    }
    dims = {"theta": ("feature",), "included": ("edge",), "n_edges": (), "density": (), "slab_scale": ()}
    seed = {"entropy": 7, "spawn_key": [], "spawned": 0}
    draws = Draws(values, dims, "made up", 10, 1, tuple(range(n_chains)), complete, 1.5, seed)
    prior = {"density": {"a": 5.0, "b": 5.0}, "bias_scale": 10.0}
    prior["slab"] = {"family": "Gamma", "shape": 5.0, "rate": 4.0}
    about = {"method": "reversible-jump", "kind": "approximate (moments from persistent chains)", "model": model.name}
    about |= {"prior": prior, "n_particles": 64, "n_sweeps": None, "data_hash": "abc"}
    return results.to_datatree(
        draws,
        model,
        attrs=about | attrs,
        observed={"statistics": np.zeros(model.n_features), "n_samples": 100.0},
    )


def columns(draws):
    """Draws (n_chains, n_draws, n) as they are read from a tree."""
    return Columns(xr.Variable(("chain", "draw", "edge"), draws))

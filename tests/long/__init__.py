"""What is long, or repeats what others test: `pytest -m calibration`, before a release."""

import pytest

LONG = pytest.mark.calibration


def few(names, *repeats):
    """Return the names as parameters of a test; ``repeats`` are left to the long run."""
    return [pytest.param(*([*name] if isinstance(name, tuple) else [name]), marks=[LONG]) if name in repeats else name
            for name in names]  # fmt: skip


# Tests by their ids that repeat, with another model, slab or kernel, what tests next to them show.
REPEATS = frozenset({
    "test_adaptation.py::test_a_step_that_makes_variances_too_large_is_used_and_told[0.04-False]",
    "test_adaptation.py::test_a_step_that_makes_variances_too_large_is_used_and_told[0.095-True]",
    "test_adaptation.py::test_a_step_that_would_diverge_is_shortened[options0]",
    "test_adaptation.py::test_default_steps_fit_the_posterior_of_any_data",
    "test_adaptation.py::test_kernels_reach_their_target_and_then_keep_the_step[exchange]",
    "test_against_exact.py::test_inclusions[adhd]",
    "test_against_exact.py::test_parts_of_an_iteration_that_are_left_out[chains that do not follow]",
    "test_against_exact.py::test_parts_of_an_iteration_that_are_left_out[right]",
    "test_against_exact.py::test_parts_of_an_iteration_that_are_left_out[visits that the ratio does not allow for]",
    "test_compare_score.py::test_scores_warn_where_few_draws_count",
    "test_differences.py::test_a_level_that_one_group_never_has[potts-2]",
    "test_draws.py::test_a_run_that_goes_on_has_the_same_draws[comparison]",
    "test_edge_cells.py::test_every_structure[agreement-langevin-False]",
    "test_edge_cells.py::test_every_structure[agreement-reversible-jump-True]",
    "test_edge_cells.py::test_every_structure[ising-reversible-jump-True]",
    "test_edge_cells.py::test_every_structure[potts-reversible-jump-True]",
    "test_group_swaps.py::test_swaps_leave_the_posterior_invariant[differences]",
    "test_level_flips.py::test_edges_and_shares_of_far_modes[True]",
    "test_maximum_likelihood.py::test_states_that_never_occur_together_are_named[agreement]",
    "test_noisy_draws.py::test_groups[Product]",
    "test_noisy_draws.py::test_pairs",
    "test_nominal_edges.py::test_exact_draws_have_the_evidences_of_all_graphs[cauchy-nominal]",
    "test_nominal_edges.py::test_exact_draws_have_the_evidences_of_all_graphs[moment-mixed]",
    "test_nominal_edges.py::test_exact_draws_have_the_evidences_of_all_graphs[normal-nominal]",
    "test_nominal_edges.py::test_names_and_order_of_levels_change_nothing",
    "test_nominal_edges.py::test_reversible_jumps_agree[mixed-Moment(scale=1.0)]",
    "test_observations.py::test_a_power_of_the_slab_keeps_the_prior_odds_of_an_edge[slab0-2]",
    "test_observations.py::test_a_power_of_the_slab_keeps_the_prior_odds_of_an_edge[slab1-2]",
    "test_observations.py::test_a_power_of_the_slab_keeps_the_prior_odds_of_an_edge[slab3-1]",
    "test_own_arrays.py::test_groups[particle]",
    "test_papers.py::test_results_do_not_depend_on_the_processes[murray_ghahramani_2004]",
    "test_particle_weights.py::test_particles_have_the_moments_of_theta_after_a_scan[tables]",
    "test_partly_seen.py::test_scores_and_predictions_sum_out_what_is_missing[potts]",
    "test_posterior_kernels.py::test_gibbs_with_many_states[True]",
    "test_properties.py::test_a_step_depends_on_state_and_generator_alone[grouped-potts-particle]",
    "test_properties.py::test_a_step_depends_on_state_and_generator_alone[spike-slab-langevin-ordinal]",
    "test_spike_slab_two_states.py::test_camps_that_turn_over_together",
    "test_stein_check.py::test_exact_draws_are_left_alone_and_others_told[potts-False]",
})  # fmt: skip

"""Which tests run at every change, and which only with `--all`.

`AT_LENGTH` names tests that run with `--all` only, and says what stays instead; `THINNED` names parametrised tests of
which only some cases run by default, and says which. Where tests are named on the command line by their node ids, all
cases run. A case is a dictionary from the names of the parametrised arguments to their values.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

Case = dict[str, object]
Choice = Callable[[Sequence[Case]], set[int]]


def covering(cases: Sequence[Case], strength: int) -> set[int]:
    """Few of the cases, such that any `strength` values of different arguments that occur together still do.

    The case with the most combinations that are missing comes next; of several, that whose values were taken least.
    """
    named = [sorted((name, repr(value)) for name, value in case.items()) for case in cases]
    together = [set(combinations(case, min(strength, len(case)))) for case in named]
    missing, chosen = set().union(*together), set()
    taken: Counter = Counter()
    while missing:
        gains = [(len(some & missing), -sum(taken[value] for value in case)) for some, case in zip(together, named)]
        best = gains.index(max(gains))
        missing -= together[best]
        taken.update(named[best])
        chosen.add(best)
    return chosen


def values(cases: Sequence[Case]) -> set[int]:
    """Every value of every argument."""
    return covering(cases, 1)


def pairs(cases: Sequence[Case]) -> set[int]:
    """Every pair of values of two arguments."""
    return covering(cases, 2)


def where(**kept: Sequence) -> Choice:
    """The cases in which these arguments have one of these values."""
    return lambda cases: {place for place, case in enumerate(cases) if all(case[name] in kept[name] for name in kept)}


def without(**left_out: Sequence) -> Choice:
    """The cases in which none of these arguments has one of these values."""
    return lambda cases: {
        place for place, case in enumerate(cases) if not any(case[name] in left_out[name] for name in left_out)
    }


def checks_of(*whole: str) -> Choice:
    """All checks of these estimators, each check with an estimator at least, and three checks of every estimator."""

    def chosen(cases: Sequence[Case]) -> set[int]:
        named = [(re.sub(r"\s", "", str(case["estimator"])), case["check"].func.__name__) for case in cases]
        known = {estimator for estimator, _ in named}
        assert known.issuperset(whole), f"{set(whole) - known} not among {known}"
        kept = {place for place, (estimator, _) in enumerate(named) if estimator in whole}
        seen = {named[place][1] for place in kept}
        of: dict[str, list[int]] = {}
        for place, (estimator, check) in enumerate(named):
            if estimator not in whole:
                of.setdefault(estimator, []).append(place)
                if check not in seen:
                    seen.add(check)
                    kept.add(place)
        for turn, places in enumerate(of.values()):
            kept.update(places[(turn * 7 + step * len(places) // 3) % len(places)] for step in range(3))
        return kept

    return chosen


AT_LENGTH = {
    "test_cli_classify.py::test_a_minute_is_enough_to_compile_and_to_search":
        "a minute with compiled loops, and five seconds with none",
    "test_distributed_cluster.py::test_rcv1_and_covtype_reach_a_certified_gap_of_a_hundredth":
        "digits on two processes, and rcv1 in one (test_distributed_fit, test_distributed_rounds)",
    "test_docs.py::test_the_code_of_a_long_page_runs":
        "pages of the guide whose code takes a second",
    "test_readme.py::test_the_commands_run":
        "the same commands in this process (test_cli_good, test_cli_search)",
    "test_formats_page.py::test_examples":
        "each format by itself (test_export_*, test_storage, test_prediction)",
    "test_export_files.py::test_thousands_of_mutated_files":
        "three hundred of them",
    "test_release.py::test_a_stranger_gets_what_is_promised":
        "the distributions are built and looked into, and the README's blocks and the demo run where they are",
    "test_distributed_checkpoint.py::test_a_lost_scheduler_and_a_new_client_on_a_new_cluster":
        "fits in one process that an error ends, and a scheduler that is lost (test_distributed_cluster)",
    "test_distributed_shuffled.py::test_covtype_in_the_order_of_its_file_converges":
        "digits by class, in one process and in two (test_distributed_cluster)",
    "test_distributed_shuffled.py::test_rcv1_ends_within_tol_of_its_own_optimum_in_few_rounds":
        "rcv1 at tol in test_distributed_fit",
    "test_many_columns.py::test_memory_is_bounded_of_very_many_columns":
        "fewer columns, one against the rest and one against one",
    "test_search_usps.py::test_the_published_grid_is_reproduced":
        "one of its seven kernels",
    "test_search_usps.py::test_the_best_kernels_are_as_good_as_published":
        "one of its seven kernels",
    "test_streaming_benchmark.py::test_a_quick_trial_measures_a_share_and_memory_and_judges_nothing":
        "quick trials of another benchmark (test_benchmarks)",
    "test_studies.py::test_as_coded_the_best_cell_has_the_published_error_and_the_right_kernel_a_lower_one":
        "the quick study as coded, and one cell against the report's own functions",
    "test_studies.py::test_the_small_sets_agree_with_the_report":
        "the quick study of these sets, and published errors of covtype, USPS and Fashion-MNIST",
    "test_types.py::test_right_use_is_right_and_types_are_known":
        "that the package says it has types, and mypy over its source",
    "test_types.py::test_wrong_use_is_found":
        "mypy over the source of the package",
    "test_trust.py::test_a_hundred_million_steps_lose_no_digits":
        "a million steps of every kind of rows",
}  # fmt: skip

THINNED: list[tuple[Choice, str, list[str]]] = [
    (pairs, "every pair of values of two settings", [
        "test_agreement.py::test_each_column_reaches_the_objective_of_linear_svc",
        "test_agreement.py::test_small_kernel_problems_reach_the_optimum_of_an_independent_quadratic_program",
        "test_agreement_losses.py::test_each_column_reaches_the_objective_of_liblinear",
        "test_agreement_losses.py::test_kernel_regression_reaches_the_optimum_of_an_independent_quadratic_program",
        "test_agreement_losses.py::test_regression_reaches_the_objective_of_linear_svr",
        "test_agreement_losses.py::test_several_targets_are_as_many_separate_fits",
        "test_agreement_losses.py::test_smooth_kernel_problems_reach_the_optimum_by_newton",
        "test_cuda_oracle.py::test_every_loss_equals_the_textbook_loop",
        "test_cuda_oracle.py::test_wide_solve_equals_the_textbook_loop",
        "test_gradient_descent.py::test_equals_the_textbook_loop",
        "test_online.py::test_batches_that_divide_the_calls_are_those_of_fit",
        "test_online.py::test_calls_over_parts_of_the_rows_are_one_pass_of_fit",
        "test_oracle.py::test_wide_solve_equals_the_textbook_loop",  # each case: all 84 rules, draws and averages
        "test_storage.py::test_every_kernel_comes_back_bit_for_bit",
        "test_streaming_fit.py::test_a_stream_in_the_order_of_the_file_gives_the_model_and_certificate_of_fit",
        "test_warm_start.py::test_a_changed_lam_carries_the_model_over",
        "test_warm_start.py::test_a_fit_that_ended_within_a_pass_goes_on_within_it",
        "test_warm_start.py::test_batches_and_projection_go_on",
        "test_warm_start.py::test_going_on_equals_one_long_fit",
        "test_warm_start.py::test_the_gap_bounds_the_distance_from_the_optimum_after_a_change_of_lam",
    ]),
    (values, "every value of every setting", [
        "test_certificate_losses.py::test_float32_certificates_hold_up_to_its_rounding",
        "test_checkpoints.py::test_a_fit_in_pieces_is_one_fit_to_the_last_bit",
        "test_checkpoints.py::test_it_does_not_matter_how_often_it_is_killed",
        "test_checkpoints.py::test_large_batches_too",
        "test_cold_start.py::test_damaged_files_are_compiled_anew",
        "test_cuda_oracle.py::test_a_few_settings_equal_the_textbook_loop",  # on an emulated GPU a second each
        "test_cuda_oracle.py::test_a_few_settings_of_every_loss_equal_the_textbook_loop",
        "test_cuda_oracle.py::test_float32_is_within_rounding_of_the_cpu",
        "test_distributed_cluster.py::test_a_fit_on_two_processes_reaches_the_optimum",
        "test_distributed_cluster.py::test_a_worker_killed_in_mid_fit_does_not_change_the_gap",
        "test_landmarks.py::test_with_every_row_a_landmark_float32_reaches_the_exact_objective",
        "test_landmarks.py::test_with_every_row_a_landmark_the_model_is_the_exact_one",
        "test_landmarks_oracle.py::test_every_loss_over_landmarks_equals_the_textbook_loop",
        "test_landmarks_oracle.py::test_float32_over_landmarks_is_within_rounding",
        "test_landmarks_oracle.py::test_steps_over_landmarks_equal_the_textbook_loop",
        "test_oracle.py::test_crammer_singer_equals_its_textbook_loop",  # each case: 21 rules and draws
        "test_oracle.py::test_direct_and_block_steps_of_kernels_both_equal_the_textbook_loop",
        "test_oracle.py::test_every_loss_equals_the_textbook_loop",  # each case: 21 rules and draws
        "test_oracle.py::test_float32_is_within_rounding_of_the_textbook_loop",
        "test_read_points.py::test_read_points_are_where_separate_solves_end",
    ]),
    (where(seed=(0, 1, 6, 7, 20, 21)), "six of 50 random problems, of either kernel", [
        "test_certificate.py::test_gap_is_at_least_the_true_suboptimality",
        "test_certificate.py::test_objective_is_that_of_the_returned_model",
        "test_certificate.py::test_sdca_falls_below_the_gap_asked_for_and_is_that_close_to_the_optimum",
        "test_certificate_losses.py::test_gap_is_at_least_the_true_suboptimality",
        "test_certificate_losses.py::test_mean_of_the_targets_taken_off_is_part_of_the_certified_problem",
        "test_certificate_losses.py::test_objective_is_that_of_the_returned_model",
        "test_certificate_losses.py::test_sdca_falls_below_the_gap_asked_for_and_is_that_close_to_the_optimum",
    ]),
    (where(kinds=("some",)), "the loops of one kind of fit", [
        "test_cold_start.py::test_warmup_says_what_it_compiled",
    ]),
    (where(weighted=(True,)), "weights and an intercept", [
        "test_landmarks_oracle.py::test_crammer_singer_over_landmarks_equals_its_textbook_loop",
    ]),
    (where(number=(signal.SIGINT,)), "Ctrl-C of the installed program; in forks it is killed", [
        "test_checkpoints_killed.py::test_the_installed_program_goes_on_after_a_signal",
    ]),
    (
        where(name=("linear crammer-singer", "linear log loss", "rbf", "all rows")),
        "every verb of the GPU; four more in float64", ["test_cuda_fit.py::test_a_model_is_the_cpu_s_to_rounding"],
    ),
    (where(backend=("multiprocessing", "threading")), "processes and threads of joblib; loky takes seconds to start", [
        "test_everyday.py::test_fits_beside_each_other_in_workers_of_joblib_have_fewer_threads",
    ]),
    (without(name=("plot_dask", "plot_searchlight", "plot_tuning_245_cells")), "all examples but the three longest", [
        "test_examples.py::test_an_example_runs_and_finds_what_it_says",
    ]),
    (where(title=("covtype",)), "the paper's error of covtype", [
        "test_studies.py::test_errors_of_the_paper_are_met",
    ]),
    (
        checks_of(
            "PegasosClassifier(average=False)",
            "PegasosClassifier(batch_size='all')",
            "PegasosClassifier(kernel='rbf')",
        ),
        "all checks of three classifiers of eight", ["test_sklearn_contract.py::test_scikit_learn_check"],
    ),
    (
        checks_of(
            "PegasosRegressor()",
            "PegasosRegressor(batch_size='all',max_iter=500)",
            "PegasosClassifier(average=False,multi_class='crammer_singer')",
        ),
        "all checks of three estimators of 19", ["test_sklearn_checks_family.py::test_scikit_learn_check"],
    ),
    (
        checks_of("SVC()", "OneClassSVM()", "LinearSVR()"),
        "all checks of three machines of 14", ["test_svm_checks.py::test_scikit_learn_check"],
    ),
    (
        checks_of(
            "PegasosSearchCV(cv=2,estimator=PegasosClassifier(average=False,random_state=0),"
            "param_grid={'lam':[0.001],'max_iter':[2,20]})",
        ),
        "all checks of one search of four", ["test_search_contract.py::test_scikit_learn_check"],
    ),
]  # fmt: skip

CHOICES = {name: choice for choice, _, names in THINNED for name in names}


def by_default(name: str, cases: Sequence[Case]) -> set[int]:
    """The places of the cases of a test that run by default; `name` is that of its file and function."""
    if name in AT_LENGTH:
        return set()
    return CHOICES[name](cases) if name in CHOICES else set(range(len(cases)))

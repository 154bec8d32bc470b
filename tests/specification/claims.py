"""Every claim that this project makes: where it is proved, and which tests try to refute it. `make soundness` makes a page of it.

A test checks that the tests and pages named here exist, and that no registered bound or randomizer is without a claim.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """What is claimed, where the argument is, and what tried to refute it.

    Attributes:
        area: what it is about.
        statement: in one sentence.
        proof: pages, from the project's folder.
        tests: by the names of their functions.
        bounds: registered bounds that it is about.
    """

    area: str
    statement: str
    proof: tuple[str, ...]
    tests: tuple[str, ...]
    bounds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gap:
    """Something that is not proved.

    Attributes:
        statement: what, and what stands in its place.
        seen: a file and words in it; when they are gone, so is the gap.
    """

    statement: str
    seen: tuple[str, str]


TRUTH = ("test_the_truth_is_never_outside_the_best_enclosure", "test_the_truth_is_never_outside_what_any_bound_claims")
BOUNDS, RANDOMIZERS = "Bounds", "What runs"
ROUNDS, ESTIMATES, PLANS, SERVICE = "Rounds, groups, budgets", "Estimates", "Plans and files", "Service"
AUDITS, VERIFIED = "Audits", "What is confirmed"

CLAIMS = (
    Claim(
        BOUNDS,
        "`best`: delta of n shuffled reports is between its two ends, for all datasets",
        ("docs/maths/numeric.md", "docs/maths/witness.md"),
        (
            *TRUTH,
            "test_thousands_of_extremal_channels",
            "test_every_registered_bound_passes",
            "test_a_wrong_bound_is_rejected",
        ),
        ("best",),
    ),
    Claim(
        BOUNDS,
        "`numeric`: the privacy blanket's expectation (BBGN19, Lemma 5.3), evaluated with every error charged",
        ("docs/maths/numeric.md", "docs/maths/kernel.md", "docs/maths/machine-checked.md"),
        (
            "test_every_theorem_is_proved_from_no_axiom",
            "test_a_false_variant_is_refused_inside_a_proof",
            "test_the_certificate_computed_by_coq_is_what_numeric_says",
            "test_against_enumeration",
            "test_two_hundred_points_at_fifty_digits",
            "test_tolerances_agree",
            "test_the_claim_for_one_user_rounds_up",
            *TRUTH,
        ),
        ("numeric",),
    ),
    Claim(
        BOUNDS,
        "`generic`: holds for every epsilon0-LDP randomizer",
        ("docs/maths/generic.md",),
        ("test_the_generic_bound_is_the_clones_formula", "test_every_channel_obeys_the_generic_lemmas", *TRUTH),
        ("generic",),
    ),
    Claim(
        BOUNDS,
        "`binary`: both ends for randomizers of two messages, over all datasets",
        ("docs/maths/binary.md",),
        (
            "test_binary_against_all_datasets",
            "test_binary_cover_holds_for_every_number_of_ones",
            "test_the_ends_enclose_the_worst_of_all_datasets",
            *TRUTH,
        ),
        ("binary",),
    ),
    Claim(
        BOUNDS,
        "`cushion`: mixed crowds of few inputs, over all datasets",
        ("docs/maths/cushion.md",),
        (
            "test_the_theorem_holds_for_small_crowds_and_thin_cushions",
            "test_no_random_mixed_crowd_is_above_the_claim",
            "test_claims_are_above_crowds_of_thousands",
        ),
        ("cushion",),
    ),
    Claim(
        BOUNDS,
        "`witness`: a dataset with at least this delta exists",
        ("docs/maths/witness.md",),
        ("test_the_best_homogeneous_dataset_is_found", *TRUTH),
        ("witness",),
    ),
    Claim(
        BOUNDS,
        "`bennett`, `hoeffding`: the paper's analytic bounds, with the printed lemma corrected",
        ("docs/maths/analytic-bounds.md", "docs/errata.md"),
        (
            "test_analytic_bounds_against_mpmath",
            "test_the_truth_of_a_channel_is_below_the_lemma_and_the_lemma_below_the_formulas",
            "test_the_printed_bennett_lemma_fails_and_the_corrected_one_does_not",
            "test_agrees_with_the_authors_code",
        ),
        ("bennett", "hoeffding"),
    ),
    Claim(
        BOUNDS,
        "`closed-form`, `erlingsson`, `histogram-theorem`: theorems as stated, inside their regimes only",
        ("docs/maths/analytic-bounds.md",),
        (
            "test_theorem_5_3_as_stated",
            "test_theorem_5_1_as_stated",
            "test_theorem_3_1_gives_the_gamma_of_the_paper",
            "test_outside_the_regime",
            *TRUTH,
        ),
        ("closed-form", "erlingsson", "histogram-theorem"),
    ),
    Claim(
        BOUNDS,
        "More users, more local noise or a larger epsilon never make delta larger",
        ("docs/maths/solver.md",),
        (
            "test_delta_falls_as_users_are_added",
            "test_delta_falls_as_local_noise_is_added",
            "test_delta_falls_as_epsilon_grows",
            "test_upper_ends_themselves_never_rise_with_the_number_of_users",
        ),
    ),
    Claim(
        BOUNDS,
        "Whatever is solved for, the answer is one that the bound grants, rounded to the safe side",
        ("docs/maths/solver.md",),
        (
            "test_an_epsilon_holds_and_the_double_below_it_does_not",
            "test_the_least_n_is_the_least",
            "test_gamma_is_the_smallest_that_holds",
            "test_solving_for_one_quantity_after_another_comes_back",
            "test_a_delta_too_small_for_a_double_is_not_reported_as_zero",
        ),
    ),
    Claim(
        BOUNDS,
        "Noise from the shuffler is as private as its few outcomes say, for all data and any number of users, and drawn as proved",
        ("docs/maths/shuffler-noise.md",),
        (
            "test_the_fewest_dummies_are_those_of_an_independent_sum",
            "test_delta_is_that_of_rational_numbers",
            "test_no_dataset_of_a_few_users_is_less_private",
            "test_dp_accounting_says_the_same",
            "test_numbers_are_drawn_as_often_as_the_law_says",
            "test_fifty_people_get_a_curators_answer",
            "test_an_analyzer_cannot_tell_dummies_from_reports",
            "test_nobody_learns_from_sending_a_record_again_whether_it_is_a_dummy",
            "test_a_crash_anywhere_changes_no_byte",
            "test_delta_of_a_tiny_survey_is_the_stated_one_whatever_others_hold",
        ),
    ),
    Claim(
        BOUNDS,
        "A batch that is topped up is as private as its task says, for any number of users, and nobody takes it for another one",
        ("docs/maths/shuffler-noise.md",),
        (
            "test_delta_of_a_batch_that_is_topped_up_is_at_most_the_stated_one",
            "test_less_noise_than_the_plan_promises_is_refused",
            "test_thirty_people_get_an_answer_with_a_guarantee_of_its_own",
            "test_a_kill_anywhere_while_topping_up_changes_no_byte",
            "test_software_that_knows_no_topping_up_releases_nothing",
            "test_a_batch_that_lacks_its_dummies_is_refused_unopened",
        ),
    ),
    Claim(
        BOUNDS,
        "Every registered randomizer's pairs dominate all pairs of its inputs",
        (
            "docs/maths/blankets.md",
            "docs/maths/design.md",
            "docs/maths/mixtures.md",
            "docs/maths/dummies.md",
            "docs/maths/machine-checked.md",
        ),
        (
            TRUTH[0],
            "test_every_registered_randomizer_passes",
            "test_gaussian_worst_pair_on_a_grid",
            "test_the_claim_is_that_of_the_whole_matrix",
        ),
    ),
    Claim(
        BOUNDS,
        "Digits among dummies hide a number as their composition says, over all datasets",
        ("docs/maths/digits.md", "docs/maths/composition.md"),
        (
            "test_three_users_of_two_digits_are_hidden_as_claimed",
            "test_known_dummies_hide_as_much_as_was_asked_for",
            "test_the_dummies_are_those_of_another_computation",
            "test_fewer_dummies_than_planned_are_not_certified",
        ),
    ),
    Claim(
        BOUNDS,
        "Numbers of every kind say the same, and what is no double is rounded, where it comes in, to the side that claims less",
        ("docs/maths/solver.md",),
        (
            "test_every_kind_of_number_says_the_same",
            "test_what_is_no_number_is_refused_by_name",
            "test_what_is_promised_is_never_less_private_than_what_was_asked_for",
        ),
    ),
    Claim(
        BOUNDS,
        "Other tools say the same wherever they can be asked: one user, an explicit pair of laws, a local randomizer",
        ("docs/other-tools.md",),
        (
            "test_one_user_is_as_private_as_dp_accounting_says",
            "test_dp_accounting_finds_no_dataset_that_is_less_private",
            "test_a_user_who_answers_at_random_is_as_private_as_opendp_says",
            "test_gaussian_noise_is_no_less_private_than_opendp_proves",
        ),
    ),
    Claim(
        ROUNDS,
        "A composed epsilon is never below that of any sequence of datasets, chosen adaptively",
        ("docs/maths/composition.md",),
        (
            "test_never_below_all_sequences_of_datasets",
            "test_rounds_of_gaussian_noise_are_one_with_less_noise",
            "test_rounds_of_coins_are_a_binomial_number",
            "test_rounds_of_one_user_cost_what_prv_accountant_says",
            "test_neighbours_are_symmetric_so_that_delta_below_zero_follows_from_delta_above",
        ),
    ),
    Claim(
        ROUNDS,
        "A person with several reports is as private as group privacy says",
        ("docs/run.md",),
        (
            "test_a_person_with_several_reports_is_as_private_as_is_said",
            "test_several_rows_of_a_person_are_as_many_local_guarantees",
        ),
    ),
    Claim(
        ROUNDS,
        "Only honest users are counted on",
        ("docs/maths/composition.md",),
        ("test_only_the_honest_share_of_the_users_counts", "test_users_for_is_the_least_number_that_suffices"),
    ),
    Claim(
        ROUNDS,
        "A budget is never exceeded, through crashes, threads and copies",
        ("docs/service-operate.md",),
        (
            "test_a17_a_budget_for_twelve_rounds_lasts_twelve_rounds",
            "test_a17_a_crash_never_under_counts",
            "test_threads_do_not_share_the_room_of_one_answer",
            "test_a_budget_is_not_copied",
        ),
    ),
    Claim(
        ROUNDS,
        "All rounds of a plan are proved together, and again whenever it is read",
        ("docs/over-time.md", "docs/maths/composition.md"),
        (
            "test_one_round_proves_rounds_only_at_its_own_delta",
            "test_rounds_are_composed_and_not_only_their_epsilons_added_up",
            "test_rounds_that_are_not_proved_are_no_plan",
            "test_what_rounds_have_spent_relies_on_honest_reports_only",
            "test_one_round_and_all_rounds_cost_the_same_wherever_they_are_composed",
            "test_rounds_for_an_error_cost_the_same_wherever_they_are_composed",
        ),
    ),
    Claim(
        ROUNDS,
        "Releases of unequal parts, sizes and rounds cost together what the accountant composes, in whatever order they came",
        ("docs/maths/composition.md",),
        (
            "test_releases_cost_what_they_cost_one_by_one_in_any_order",
            "test_a_cheap_release_does_not_hide_a_dear_one",
            "test_several_messages_in_several_rounds_are_as_many_releases",
            "test_a_release_relies_on_honest_reports_only",
            "test_all_answers_are_composed_in_whatever_order_they_were_given",
            "test_one_that_cannot_be_composed_makes_all_of_them_add_up",
        ),
    ),
    Claim(
        ROUNDS,
        "A person makes no more reports than the rounds of a task allow, whatever a shuffler announces",
        ("docs/over-time.md",),
        (
            "test_a_window_that_is_dropped_is_a_report_all_the_same",
            "test_its_own_tests_and_the_shipped_vectors_pass_in_node",
        ),
    ),
    Claim(
        RANDOMIZERS,
        "Messages follow the very law that is accounted for, to the last of 64 bits",
        ("docs/maths/blankets.md",),
        (
            "test_every_registered_randomizer_passes",
            "test_a_wrong_randomizer_is_rejected",
            "test_system_words_follow_the_law_too",
            "test_the_threshold_is_rounded_up",
            "test_uniform_below_is_multiply_shift_with_exact_rejection",
            "test_every_threshold_decides_to_its_last_bit",
        ),
    ),
    Claim(
        RANDOMIZERS,
        "No two people share a random word, and no engine or partitioning randomizes anybody twice",
        ("docs/architecture.md",),
        (
            "test_two_people_never_share_an_address",
            "test_encoders_get_no_word_of_the_randomizer",
            "test_any_partitioning_gives_the_same_counts",
            "test_which_question_is_drawn_from_words_that_no_part_uses",
            "test_every_engine",
        ),
    ),
    Claim(
        RANDOMIZERS,
        "Real runs use the system's randomness; seeded ones carry no guarantee",
        ("docs/threat-model.md",),
        ("test_t22_clients_use_the_systems_randomness_alone", "test_seeded_randomness_carries_no_guarantee"),
    ),
    Claim(
        RANDOMIZERS,
        "A key randomizes one release: two under one key would show how their data differ",
        ("docs/threat-model.md", "docs/faq.md"),
        (
            "test_words_of_one_release_are_refused_for_another",
            "test_it_is_the_key_that_is_remembered_and_each_half_of_it",
            "test_a_copy_randomizes_no_release",
            "test_of_two_runs_at_once_one_gets_the_words",
            "test_copies_in_other_processes_randomize_no_release_of_their_own",
            "test_a_run_that_fails_has_used_its_words",
            "test_a_run_is_repeated_without_a_guarantee",
            "test_a_key_that_was_used_without_a_guarantee_gets_none_afterwards",
            "test_a_second_report_under_the_same_key_is_refused",
        ),
    ),
    Claim(
        RANDOMIZERS,
        "What a value is does not depend on the kind of column, label or number it comes in; who gave no answer is never counted as one",
        ("docs/run.md",),
        (
            "test_columns_of_every_kind_say_the_same",
            "test_who_gave_no_answer_is_never_counted",
            "test_labels_that_nearly_match_are_said_to_and_can_be_matched_loosely",
            "test_labels_that_are_alike_cannot_be_matched_loosely",
            "test_what_is_not_listed_is_refused_without_being_shown",
        ),
    ),
    Claim(
        RANDOMIZERS,
        "Which rows of a person count beyond their share does not depend on values",
        ("docs/run.md", "docs/spark.md"),
        (
            "test_rows_beyond_a_persons_share_are_left_out_and_the_rest_accounted_for",
            "test_a_persons_first_rows_are_those_with_the_least_row_numbers",
        ),
    ),
    Claim(
        ESTIMATES,
        "Estimates are exactly unbiased, with the stated variance or less",
        ("docs/maths/protocols.md",),
        (
            "test_one_message_is_exactly_unbiased",
            "test_histogram_moments_by_enumeration",
            "test_sum_moments_by_enumeration",
            "test_estimates_are_unbiased_and_a_gamma_ten_percent_off_is_noticed",
            "test_wrong_protocols_are_found_out",
        ),
    ),
    Claim(
        BOUNDS,
        "A message about a row is private whatever the codewords are: nothing that is proved rests on them",
        ("docs/maths/vectors.md", "docs/maths/design.md"),
        (
            "test_all_datasets_of_a_tiny_codebook_are_inside_the_enclosure",
            "test_privacy_does_not_rest_on_the_codebook",
            "test_an_audit_finds_a_leak",
            "test_messages_have_their_law",
        ),
    ),
    Claim(
        ESTIMATES,
        "Means of rows are unbiased, err as stated, and their codewords are the same on every machine",
        ("docs/maths/vectors.md",),
        (
            "test_the_largest_product_is_what_others_found",
            "test_both_moments_against_quadrature_in_high_precision",
            "test_whole_runs_are_unbiased_and_err_as_stated",
            "test_intervals_hold_as_often_as_they_say",
            "test_simulated_runs_have_the_law_of_real_ones",
            "test_rows_from_recorded_words",
        ),
    ),
    Claim(
        ESTIMATES,
        "Moments and coefficients of columns are in their intervals as often as these say, and what cannot be told has no number",
        ("docs/maths/moments.md",),
        (
            "test_all_datasets_of_columns_and_a_tiny_codebook_are_inside_the_enclosure",
            "test_all_products_fit_into_the_ball_and_touch_it",
            "test_exact_moments_give_what_textbooks_give",
            "test_derivatives_are_those_of_what_is_read",
            "test_coefficients_of_real_data_are_in_their_intervals_as_often_as_these_say",
            "test_collinear_features_have_no_coefficients_and_the_answer_says_why",
            "test_covariances_that_no_data_have_are_projected_and_that_is_said",
            "test_a_false_report_moves_no_number_by_more_than_is_stated",
        ),
    ),
    Claim(
        ESTIMATES,
        "Intervals cover the truth as often as they say",
        ("docs/maths/protocols.md", "docs/maths/groups.md", "docs/maths/distributions.md"),
        (
            "test_a2_intervals_cover_as_often_as_they_say",
            "test_coverage_of_the_interval",
            "test_means_of_groups_err_as_forecast_and_their_intervals_hold",
            "test_intervals_of_quantiles_cover",
        ),
    ),
    Claim(
        ESTIMATES,
        "One false report shifts an estimate by no more than is stated",
        ("docs/attacks.md",),
        (
            "test_a16_one_false_report_moves_an_estimate_by_what_the_result_says",
            "test_a16_fakes_shift_a_bin_by_the_stated_amount",
        ),
    ),
    Claim(
        PLANS,
        "A plan's guarantee is proved again from the law that runs whenever it is read; an edit is refused",
        ("docs/architecture.md",),
        (
            "test_a_claim_is_proved_from_the_randomizer_that_runs",
            "test_an_edit_with_a_new_hash_is_refused_if_the_claim_does_not_follow",
            "test_what_is_planned_is_certified",
        ),
    ),
    Claim(
        PLANS,
        "Nothing is released below the planned minimum",
        ("docs/run.md", "docs/threat-model.md"),
        (
            "test_nothing_is_released_below_the_minimum_whatever_a_protocol_counts",
            "test_too_few_rows_release_nothing",
            "test_a3_nothing_below_min_batch_is_ever_released",
        ),
    ),
    Claim(
        PLANS,
        "Whatever is planned is written, read, verified and run",
        ("docs/run.md",),
        (
            "test_what_is_planned_is_written_loaded_verified_and_run",
            "test_every_question_and_every_family_is_among_them",
            "test_the_same_on_the_command_line",
        ),
    ),
    Claim(
        PLANS,
        "Equal documents are read alike, whoever wrote them; what parsers could read differently, or is nested without end, is refused",
        ("docs/wire.md", "docs/threat-model.md"),
        (
            "test_every_file_of_earlier_versions",
            "test_what_is_verified",
            "test_what_is_composed",
            "test_tasks_in_javascript",
            "test_the_header_of_an_exported_table",
            "test_ledgers",
            "test_what_parsers_read_differently",
            "test_no_command_reads_such_json",
            "test_no_command_reads_such_toml",
            "test_no_reader_of_objects_does",
        ),
    ),
    Claim(
        PLANS,
        "Files of earlier versions are read and verified, and their plans make the same messages under the same key",
        ("docs/stability.md",),
        (
            "test_a_plan_is_read_and_its_messages_are_the_same",
            "test_a_plan_and_its_result_are_verified",
            "test_certificates_are_verified",
            "test_an_exported_table_is_read",
            "test_a_service_goes_on",
        ),
    ),
    Claim(
        PLANS,
        "A table of messages says no more than its messages: nothing of values, nor of the order or number of people who have none",
        ("docs/run.md",),
        (
            "test_the_order_is_secret_and_does_not_depend_on_the_rows",
            "test_a_table_says_nothing_of_rejected_or_adjusted_values",
            "test_nobody_is_left_out_of_a_table_for_want_of_a_value",
            "test_a_table_has_no_guarantee_that_its_words_do_not_give",
            "test_a_table_of_the_former_version_says_what_it_may_leave_out",
            "test_an_edited_table_is_refused",
            "test_a_table_gives_the_answer_of_its_messages",
        ),
    ),
    Claim(
        PLANS,
        "Whoever writes a query learns nothing exact about a person from results, tables and errors, if its answers are settled in advance",
        ("docs/run.md", "docs/threat-model.md"),
        (
            "test_where_all_is_settled_results_tell_nothing_but_messages",
            "test_all_refusals_are_alike",
            "test_answers_of_a_function_are_refused_alike",
            "test_nobody_is_left_out_by_a_query",
            "test_tables_of_neighbours_state_the_same",
            "test_a_result_says_which_of_its_numbers_are_exact",
        ),
    ),
    Claim(
        VERIFIED,
        "A certificate is confirmed only if its claim was proved, by other means than the accountant's, in exactly its words",
        ("docs/certificates.md", "docs/maths/cushion.md"),
        (
            "test_a_forged_certificate_is_confirmed_only_if_it_is_true",
            "test_nothing_below_the_truth_is_confirmed",
            "test_nothing_below_the_certified_lower_end_is_confirmed",
            "test_words_that_say_something_else_are_refused",
            "test_what_is_certain_to_be_small_is_not_left_out",
            "test_claims_are_confirmed_and_0_2_percent_better_ones_are_not",
        ),
    ),
    Claim(
        VERIFIED,
        "What is confirmed of a plan, task or result is the whole promise, and what is printed is what was proved",
        ("docs/certificates.md",),
        (
            "test_a_plan_that_was_edited_is_confirmed_only_if_it_is_true",
            "test_a_task_that_was_edited_is_confirmed_only_if_it_is_true",
            "test_a_result_that_was_edited_is_confirmed_only_if_it_is_true",
            "test_there_are_five_hundred_forgeries_without_those_of_certificates",
            "test_the_forgeries_of_old_are_refused",
            "test_a_document_that_is_several_at_once_is_none",
            "test_a_result_is_compared_with_its_plan_and_its_task",
            "test_people_with_several_rows_need_the_plan",
            "test_what_was_proved_is_printed_and_what_was_not",
            "test_a_claim_that_is_not_proved_is_not_printed_as_one",
        ),
    ),
    Claim(
        VERIFIED,
        "Certificates and the accountant take the same randomizers, and refuse the same",
        ("docs/certificates.md", "docs/maths/mixtures.md"),
        (
            "test_every_kind_is_known_to_both",
            "test_both_take_the_same_pairs_of_questions",
            "test_both_refuse_the_same_odd_values",
            "test_a_mixture_with_a_part_of_which_it_is_not_known_what_equal_inputs_show_is_refused",
        ),
    ),
    Claim(
        VERIFIED,
        "Whatever a document says, `verify` raises nothing and comes to an end",
        ("docs/certificates.md",),
        (
            "test_huge_claims_come_to_an_end",
            "test_a_proof_that_takes_too_much_is_given_up",
            "test_every_method_counts_before_it_sums_up",
            "test_odd_fields_are_refused",
            "test_what_is_nested_too_deeply_is_refused",
            "test_verify_refuses_them",
        ),
    ),
    Claim(
        AUDITS,
        "What an audit shows is above the truth with a chance of at most 1 - confidence, and is what it said in advance",
        ("docs/audit.md",),
        (
            "test_false_alarms_are_no_more_frequent_than_the_confidence_says",
            "test_reported_and_reached_power_agree_within_a_tenth",
            "test_a_tenth_less_blanket_is_noticed_behind_a_shuffler_if_that_is_foreseen",
        ),
    ),
    Claim(
        AUDITS,
        "Nothing that is registered audits above what is certified for it; broken programs and services do",
        ("docs/audit.md",),
        (
            "test_nothing_that_is_shipped_is_worse_than_certified",
            "test_a_program_that_keeps_its_claim_and_one_that_does_not",
            "test_a_client_that_retries_with_fresh_coins",
            "test_a_shuffler_that_releases_in_the_order_of_arrival",
            "test_a_user_with_a_key_of_its_own",
        ),
    ),
    Claim(
        SERVICE,
        "A shuffler sees who sends and never what; the analyzer sees what was sent and never by whom",
        ("docs/threat-model.md", "docs/wire.md"),
        (
            "test_a13_a_party_with_another_task_opens_nothing",
            "test_a11_no_address_header_or_outer_byte_is_kept",
            "test_a10_every_permutation_of_five_is_equally_likely",
            "test_a9_every_value_has_one_length",
        ),
    ),
    Claim(
        SERVICE,
        "A batch is released once, whole, permuted, under one key, and is the same at every fetch",
        ("docs/threat-model.md",),
        (
            "test_a_batch_comes_out_whole_once_and_the_same_each_time",
            "test_a25_after_any_rotation_a_batch_has_one_key_and_nothing_is_lost",
            "test_a_batch_that_mixes_keys_is_refused_before_anything_is_opened",
        ),
    ),
    Claim(
        SERVICE,
        "What was acknowledged is never lost and never counted twice",
        ("docs/threat-model.md",),
        (
            "test_a4_each_report_sent_three_times_on_eight_connections_counts_once",
            "test_a12_rotations_under_load_lose_no_report",
            "test_a18_ten_retries_send_one_randomized_value",
        ),
    ),
    Claim(
        SERVICE,
        "A backup, a copy, an earlier state or a second name of a store is not served, so that no batch is released twice and no report lost",
        ("docs/service-deploy.md", "docs/threat-model.md"),
        (
            "test_a47_a_backup_is_not_served",
            "test_a47_neither_a_copy_nor_an_earlier_state_of_the_file_is_served",
            "test_a_copy_of_the_file_is_refused",
            "test_a_copy_of_the_tables_is_refused",
            "test_a_store_that_was_set_back_releases_nothing_again",
            "test_the_witness_knows_before_anything_is_released",
            "test_a_store_that_was_moved_is_not_served_beside_the_new_one",
            "test_a48_a_store_with_two_names_or_no_content_is_not_served",
            "test_a_file_that_is_mounted_by_itself_is_refused",
        ),
    ),
    Claim(
        SERVICE,
        "Nobody is opened twice, and a result counts on no more honest reports than its new ones may hold",
        ("docs/threat-model.md", "docs/service-operate.md"),
        (
            "test_an_analyzer_opens_nobody_twice_when_a_shuffler_released_them_twice",
            "test_a_batch_that_is_released_again_with_a_few_people_more_does_not_show_them",
            "test_the_realised_epsilon_counts_on_no_more_honest_reports_than_the_plan_assumes",
        ),
    ),
    Claim(
        SERVICE,
        "No sender takes the connections, the bytes or the rate of the others, and a limit is never exceeded",
        ("docs/service-deploy.md", "docs/threat-model.md"),
        (
            "test_sixty_six_slow_uploads_leave_room_for_everybody_else",
            "test_slow_uploads_from_one_address_keep_nobody_else_from_reporting",
            "test_silent_connections_from_one_address_keep_nobody_else_from_connecting",
            "test_one_sender_does_not_use_up_the_rate_of_everybody",
            "test_an_upload_with_more_than_a_rate_allows_in_its_window_is_refused_whole",
            "test_what_is_dealt_is_never_more_than_the_rate",
            "test_a_head_above_64_kib_is_refused_however_it_arrives",
            "test_a_store_that_may_not_grow_is_not_ready_and_fills_no_log",
        ),
    ),
    Claim(
        SERVICE,
        "A hostile shuffler gets 200 MB and a minute of those who ask it, and hands them no other batch than it announced",
        ("docs/threat-model.md", "docs/service-operate.md"),
        (
            "test_every_exchange_with_a_hostile_shuffler_ends_with_a_clear_error",
            "test_a49_a_hostile_shuffler_gets_no_more_than_200_megabytes",
            "test_a49_what_a_hostile_shuffler_can_delay_ends_within_a_minute",
            "test_what_is_announced_is_compared_with_the_task_and_with_what_arrives",
            "test_what_has_arrived_of_a_batch_buys_time_and_a_refusal_buys_none",
        ),
    ),
    Claim(
        SERVICE,
        "No text of others forges a line of ours, and processes that hold keys leave no core dump",
        ("docs/threat-model.md",),
        (
            "test_a50_whatever_text_of_a_task_is_replaced_it_is_refused_or_shown_safely",
            "test_a50_no_task_is_made_with_a_name_that_is_not_one_line_of_printable_characters",
            "test_nothing_that_a_document_says_steers_the_terminal",
            "test_what_a_shuffler_says_is_shown_as_escapes",
            "test_commands_that_hold_keys_leave_no_core_dump",
            "test_a_shuffler_and_its_helpers_leave_no_core_dumps",
        ),
    ),
    Claim(
        SERVICE,
        "The JavaScript client sends the very bits that the Python one would",
        ("docs/wire.md",),
        (
            "test_it_randomizes_as_python_does_whatever_the_protocol_and_the_value",
            "test_its_own_tests_and_the_shipped_vectors_pass_in_node",
        ),
    ),
)

GAPS = (
    Gap(
        "The worst pair of the continuous Gaussian is proved to be (0, 1) except in one corner, which is checked numerically "
        "([blankets](maths/blankets.md)); results for it say so. A Gaussian that runs is a lattice, and has no such gap.",
        ("src/shuffledp/randomizers/gaussian.py", "proved but for one corner"),
    ),
    Gap(
        "The kernel assumes that numpy's elementary functions are right to 4 units in the last place. That is tested at thousands of points on the machine "
        "that runs the tests, not proved for every machine ([kernel](maths/kernel.md)).",
        ("tests/arithmetic/test_positive_part.py", "test_elementary_functions_are_as_accurate_as_assumed"),
    ),
    Gap(
        "The forecast of a distribution's rank error is a normal approximation: argued and simulated, not proved. Privacy does not depend on it.",
        ("tests/protocols/test_distribution.py", "test_not_even_data_made_for_it_exceed_the_forecast_more_often"),
    ),
    Gap(
        "`worst_sampled`, the data at which the error of asking a part of the people is forecast, is not proved to be the worst. Privacy does not depend on it.",
        ("src/shuffledp/protocols/protocol.py", "def worst_sampled"),
    ),
    Gap(
        "Occasionally a group far below the stated smallest size still gets a number. Its interval then covers less than it states ([known issues](known-issues.md#answers)).",
        ("tests/protocols/test_grouped.py", "test_a_group_that_is_too_small_gets_a_reason_instead_of_a_number"),
    ),
    Gap(
        "An audit of a service has time for some hundred batches. It notices a message that can be told from the others, and says that it is under-powered for the epsilon of the [crowd](glossary.md#crowd) ([audits](audit.md)).",
        ("docs/audit.md", "*under-powered*"),
    ),
    Gap(
        "`verify` proves promises. It does not prove that the estimates of a result are those of its [reports](glossary.md#report), who the people are or whom to trust, and says so ([certificates](certificates.md)).",
        ("src/shuffledp/verification/results.py", "the estimates"),
    ),
    Gap(
        "Nobody notices two programs that are given the same key, or a store that is set back together with its witness ([known issues](known-issues.md)).",
        ("docs/known-issues.md", "sets back a store together with its witness"),
    ),
    Gap(
        "Three things are exact, and no budget counts them: that a query fails, how long a run takes, and how many rows it leaves out or adjusts. Results state which of their numbers are exact ([queries](run.md#who-may-ask-and-who-owns-the-rows)).",
        ("docs/run.md", "Whether there *was* an error is still an exact bit"),
    ),
    Gap(
        "The tests did not build the image of a shuffler. Its base is as good as the digest that it is given ([deploy](service-deploy.md#systemd-and-containers)).",
        ("docs/deploy/Containerfile", "FROM ${BASE}"),
    ),
    Gap(
        "Everything relies on Arb's balls, Python's whole numbers, the HPKE and AES of `cryptography`, IEEE doubles and the system's randomness.",
        ("pyproject.toml", "python-flint"),
    ),
    Gap(
        "Nothing runs in constant time: an attacker who can measure how long a client computes is not considered.",
        ("pyproject.toml", "cryptography"),
    ),
    Gap(
        "The JavaScript client randomizes and seals, but does not prove a plan's guarantee: it trusts whoever serves the page.",
        ("clients/js/README.md", "guarantee"),
    ),
)
"""In the order of their weight."""

(* What each theorem says, and what it rests on: "Closed under the global context" means on no axiom. *)

From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From ShuffleDP Require Import Sums Shuffle Blanket Refuted Expectation Overlap Certificate ShufflerNoise.

Check privacy_blanket.
Check privacy_blanket_expectation.
Check response_100.
Check shuffler_noise.
Print Assumptions privacy_blanket.
Print Assumptions privacy_blanket_with_zeros.
Print Assumptions common_part.
Print Assumptions divergence_event.
Print Assumptions histogramP.
Print Assumptions law_total.
Print Assumptions overlap_attained.
Print Assumptions the_lemma_itself.
Print Assumptions no_smaller_factor.
Print Assumptions n_plus_1_is_false.
Print Assumptions privacy_blanket_expectation.
Print Assumptions smaller_overlap.
Print Assumptions smaller_share.
Print Assumptions response_100.
Print Assumptions binE.
Print Assumptions one_more.
Print Assumptions one_less.
Print Assumptions shuffler_noise.

(* For one user the lemma is exact: a variant with a smaller factor is false. *)

From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From ShuffleDP Require Import Sums Shuffle Blanket.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section OneUser.

Variables (F : realFieldType) (X Y : finType) (R : X -> Y -> F) (D D' : 'I_1 -> X) (a : F).

Let v b := R (D ord0) b - a * R (D' ord0) b.

(* Of one message the histogram hides nothing. *)
Lemma one_message : injective (@histogram Y 1).
Proof.
move=> y z /eqP; rewrite histogramP => same; apply: val_inj.
by apply: perm_small_eq same; rewrite size_tuple.
Qed.

Lemma one_user_divergence : \sum_(h : {ffun Y -> 'I_2}) pos (law R D h - a * law R D' h) = \sum_b pos (v b).
Proof.
transitivity (\sum_(y : 1.-tuple Y) pos (v (thead y))); last first.
  by rewrite sum_cons; apply: eq_bigr => b _; rewrite sum_nil theadE.
have sentE (E : 'I_1 -> X) y : sent R E y = R (E ord0) (thead y) by rewrite /sent big_ord1.
rewrite -sum_by_histogram; apply: eq_bigr => h _.
rewrite /law big_distrr /= -sumrB (eq_bigr (fun y => v (thead y))) => [|y _]; last by rewrite !sentE.
case: (pickP (fun y : 1.-tuple Y => histogram y == h)) => [y0 /eqP <- | none].
  by rewrite !(big_pred1 y0) // => y; apply: (inj_eq one_message).
by rewrite !big_pred0 // pos0.
Qed.

Lemma one_user_bound : (forall b, 0 < overlap R b) -> 0 < g R ->
  (\sum_(1 <= m < 2) 'C(1, m)%:R * g R ^+ m * (1 - g R) ^+ (1 - m)
     * \sum_(y : m.-tuple Y) (\prod_(b <- y) w R b) * pos (\sum_(b <- y) v b / w R b))
  = g R * \sum_b pos (v b).
Proof.
move=> overlap_gt0 g_gt0.
rewrite big_nat1 subnn expr0 mulr1 expr1 mul1r; congr (_ * _).
rewrite sum_cons; apply: eq_bigr => b _; rewrite sum_nil !big_seq1.
have w_gt0 : 0 < w R b by rewrite /w divr_gt0.
by rewrite -posM ?ltW // mulrC divfK // gt_eqF.
Qed.

End OneUser.

(* Two-valued randomized response that tells the truth with probability 3/4. *)
Definition R (x b : bool) : rat := if x == b then 3%:Q / 4%:Q else 1%:Q / 4%:Q.

Lemma R_gt0 x b : 0 < R x b.
Proof. by case: x; case: b. Qed.

Lemma R_rows x : \sum_b R x b = 1.
Proof. by rewrite big_bool; case: x; apply/eqP. Qed.

Lemma R_overlap b : overlap R b = 1%:Q / 4%:Q.
Proof.
have [x same] := overlap_attained R_rows b true (fun x c => ltW (R_gt0 x c)).
apply/eqP; rewrite eq_le; apply/andP; split; first by apply: le_trans (overlap_le R (~~ b) b) _; case: b {same}.
by rewrite same; case: x {same}; case: b.
Qed.

Lemma R_g : g R = 1%:Q / 2%:Q.
Proof. by rewrite /g big_bool !R_overlap; apply/eqP. Qed.

(* What the lemma says, with any factor in the place of 1 / (g n). *)
Definition lemma_with (factor : rat -> nat -> rat) : Prop :=
  forall (X Y : finType) (R : X -> Y -> rat), (forall x, \sum_y R x y = 1) ->
  forall n (D D' : 'I_n -> X) (i : 'I_n) (a : rat),
  (forall x b, 0 < R x b) ->
  (forall j, j != i -> D j = D' j) ->
  \sum_(h : {ffun Y -> 'I_n.+1}) pos (law R D h - a * law R D' h)
  <= factor (g R) n * \sum_(1 <= m < n.+1) 'C(n, m)%:R * g R ^+ m * (1 - g R) ^+ (n - m)
       * \sum_(y : m.-tuple Y) (\prod_(b <- y) w R b)
           * pos (\sum_(b <- y) (R (D i) b - a * R (D' i) b) / w R b).

Theorem the_lemma_itself : lemma_with (fun g n => 1 / (g * n%:R)).
Proof. move=> X Y S rows n D D' i a; exact: privacy_blanket. Qed.

(* One user who may hold either value, a = 1: the divergence is 1/2, and a factor below 2 = 1/g claims less. *)
Theorem no_smaller_factor (factor : rat -> nat -> rat) : factor (1%:Q / 2%:Q) 1%N < 2%:Q -> ~ lemma_with factor.
Proof.
move=> small /(_ _ _ R R_rows 1%N (fun=> true) (fun=> false) ord0 1 R_gt0 _).
have overlap_gt0 b : 0 < overlap R b by rewrite R_overlap.
have g_gt0 : 0 < g R by rewrite R_g.
have /= -> := one_user_bound (fun=> true) (fun=> false) 1 overlap_gt0 g_gt0.
rewrite one_user_divergence /= R_g.
have -> : \sum_b pos (R true b - 1 * R false b) = 1%:Q / 2%:Q by rewrite big_bool; apply/eqP.
move=> claimed; have {claimed} : (1%:Q / 2%:Q : rat) <= factor (1%:Q / 2%:Q) 1%N * (1%:Q / 2%:Q * (1%:Q / 2%:Q)).
  by apply: claimed => j; rewrite ord1.
apply/negP; rewrite -ltNge.
have -> : (1%:Q / 2%:Q : rat) = 2%:Q * (1%:Q / 2%:Q * (1%:Q / 2%:Q)) by apply/eqP.
by rewrite ltr_pmul2r.
Qed.

Theorem n_plus_1_is_false : ~ lemma_with (fun g n => 1 / (g * n.+1%:R)).
Proof. exact: no_smaller_factor. Qed.

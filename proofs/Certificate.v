(* A certificate, evaluated inside the prover: a bound as one sum of whole numbers, and one case of it computed. *)

From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From ShuffleDP Require Import Sums Shuffle Blanket Expectation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.
Local Delimit Scope Z_scope with ZZ.

(* Coq's binary whole numbers, which are fast, in any ordered field. *)
Section WholeNumbers.

Variable F : realFieldType.

Definition ofZ (z : Z) : F :=
  match z with Z0 => 0 | Zpos p => (Pos.to_nat p)%:R | Zneg p => - (Pos.to_nat p)%:R end.

Lemma ofZ_nat n : ofZ (Z.of_nat n) = n%:R.
Proof. by case: n => [|n] //=; rewrite SuccNat2Pos.id_succ. Qed.

Lemma ofZ_difference m n : ofZ (Z.of_nat m - Z.of_nat n)%ZZ = m%:R - n%:R.
Proof.
case: (leqP n m) => [/ssrnat.leP nm | /ssrnat.ltP mn].
  by rewrite -Nat2Z.inj_sub // ofZ_nat minusE natrB //; apply/ssrnat.leP.
have -> : (Z.of_nat m - Z.of_nat n = - Z.of_nat (n - m))%ZZ by rewrite Nat2Z.inj_sub; lia.
have opp k : ofZ (- Z.of_nat k) = - k%:R by case: k => [|k] /=; rewrite ?oppr0 // SuccNat2Pos.id_succ.
by rewrite opp natrB ?opprB //; apply/ssrnat.leP; lia.
Qed.

Lemma Z_difference z : exists m n, z = (Z.of_nat m - Z.of_nat n)%ZZ.
Proof. by exists (Z.to_nat z), (Z.to_nat (- z)); lia. Qed.

Lemma ofZD x y : ofZ (x + y)%ZZ = ofZ x + ofZ y.
Proof.
have [m [n ->]] := Z_difference x; have [m' [n' ->]] := Z_difference y.
have -> : (Z.of_nat m - Z.of_nat n + (Z.of_nat m' - Z.of_nat n') = Z.of_nat (m + m') - Z.of_nat (n + n'))%ZZ.
  by rewrite !Nat2Z.inj_add; lia.
by rewrite !ofZ_difference !natrD opprD addrACA.
Qed.

Lemma ofZM x y : ofZ (x * y)%ZZ = ofZ x * ofZ y.
Proof.
have [m [n ->]] := Z_difference x; have [m' [n' ->]] := Z_difference y.
have -> : ((Z.of_nat m - Z.of_nat n) * (Z.of_nat m' - Z.of_nat n')
    = Z.of_nat (m * m' + n * n') - Z.of_nat (m * n' + n * m'))%ZZ.
  by rewrite !Nat2Z.inj_add !Nat2Z.inj_mul; ring.
rewrite !ofZ_difference !natrD !natrM mulrBl !mulrBr opprD opprB.
by rewrite -!addrA; congr (_ + _); rewrite addrCA [X in _ + X]addrC.
Qed.

Lemma ofZX x n : ofZ (x ^ Z.of_nat n)%ZZ = ofZ x ^+ n.
Proof.
elim: n => [|n IH] //; rewrite Nat2Z.inj_succ Z.pow_succ_r; last by lia.
by rewrite ofZM IH exprS.
Qed.

Lemma ofZ_ge0 z : (0 <= z)%ZZ -> 0 <= ofZ z.
Proof. by case: z => [|p|p] z_ge0 /=; [| rewrite ler0n | case: z_ge0]. Qed.

Lemma ofZ_le x y : (x <= y)%ZZ -> ofZ x <= ofZ y.
Proof.
move=> xy; have -> : y = (x + (y - x))%ZZ by lia.
by rewrite ofZD ler_addl ofZ_ge0 //; lia.
Qed.

Lemma ofZ_pos z : pos (ofZ z) = ofZ (Z.max 0 z).
Proof.
case: (Z.leb_spec 0 z) => z0; first by rewrite Z.max_r // pos_id // ofZ_ge0.
rewrite Z.max_l; last by lia.
by apply/eqP; rewrite eq_le pos_ge0 andbT pos_le // (ofZ_le (y := 0)) //; lia.
Qed.

(* What is to be computed for s / (n M^n) <= p / q^k. *)
Definition certified (s : Z) (n M p q k : nat) : bool :=
  Z.leb (s * Z.of_nat q ^ Z.of_nat k)%ZZ (Z.of_nat p * (Z.of_nat n * Z.of_nat M ^ Z.of_nat n))%ZZ.

Lemma certifiedP s n M p q k : certified s n M p q k -> (0 < n)%N -> (0 < M)%N -> (0 < q)%N ->
  n%:R^-1 * (ofZ s / M%:R ^+ n) <= p%:R / q%:R ^+ k :> F.
Proof.
move=> /Z.leb_le /ofZ_le; rewrite !ofZM !ofZX !ofZ_nat => computed n0 M0 q0.
rewrite mulrC -mulrA -invfM ler_pdivr_mulr ?mulr_gt0 ?exprn_gt0 ?ltr0n //.
by rewrite mulrAC ler_pdivl_mulr ?exprn_gt0 ?ltr0n // [M%:R ^+ _ * _]mulrC.
Qed.

End WholeNumbers.

(* Laws on whole numbers, as lists of values and weights. *)
Definition table := seq (Z * Z).

(* The sum of two; in order, if they are. *)
Fixpoint merge (d : table) : table -> table :=
  fix inner (e : table) : table :=
    match d, e with
    | [::], _ => e
    | _, [::] => d
    | (k, w) :: d', (j, u) :: e' =>
        match Z.compare k j with
        | Eq => (k, w + u)%ZZ :: merge d' e'
        | Lt => (k, w) :: merge d' e
        | Gt => (j, u) :: inner e'
        end
    end.

Definition shifted (atom : Z * Z) (d : table) : table := [seq (atom.1 + p.1, atom.2 * p.2)%ZZ | p <- d].

Definition one_more_user (atoms d : table) : table := foldr (fun atom e => merge (shifted atom d) e) [::] atoms.

Fixpoint users (atoms : table) n d : table := if n is n'.+1 then users atoms n' (one_more_user atoms d) else d.

(* The sum of the positive parts. *)
Definition excess (d : table) : Z := foldr (fun p s => p.2 * Z.max 0 p.1 + s)%ZZ 0%ZZ d.

Section Tables.

Variable F : realFieldType.

Definition value (f : F -> F) (d : table) : F := \sum_(p <- d) ofZ F p.2 * f (ofZ F p.1).

Lemma value_merge f d e : value f (merge d e) = value f d + value f e.
Proof.
rewrite /value; elim: d e => [|[k w] d IHd] e; first by case: e => [|p e]; rewrite big_nil add0r.
elim: e => [|[j u] e IHe]; first by rewrite big_nil addr0.
rewrite [merge _ _]/=; case: Z.compare_spec => [<- | _ | _].
- by rewrite !big_cons IHd /= ofZD mulrDl addrACA.
- by rewrite big_cons IHd [in RHS]big_cons addrA.
- by rewrite big_cons IHe [X in _ = _ + X]big_cons addrCA.
Qed.

Lemma value_one_more_user f atoms d :
  value f (one_more_user atoms d)
  = \sum_(p <- d) ofZ F p.2 * \sum_(q <- atoms) ofZ F q.2 * f (ofZ F p.1 + ofZ F q.1).
Proof.
elim: atoms => [|q atoms IH] /=.
  by rewrite /value big_nil big1 // => p _; rewrite big_nil mulr0.
rewrite value_merge IH /value /shifted big_map -big_split; apply: eq_bigr => p _ /=.
by rewrite big_cons mulrDr ofZM ofZD mulrA -(mulrC (ofZ F q.2)) [ofZ F p.1 + ofZ F q.1]addrC.
Qed.

Lemma excessE d : ofZ F (excess d) = value (@pos F) d.
Proof.
rewrite /value; elim: d => [|p d IH] /=; first by rewrite big_nil.
by rewrite big_cons ofZD ofZM IH ofZ_pos.
Qed.

(* n users with atoms in whole numbers: weights are in units of 1 / M. *)
Variables (Y : finType) (eta l : Y -> F) (c : F) (atoms : table) (M : F).
Hypothesis atomsE : forall (f : F -> F) s,
  \sum_(q <- atoms) ofZ F q.2 * f (s + ofZ F q.1) = M * (c * f s + \sum_b eta b * f (s + l b)).

Lemma value_users (Phi : F -> F) n d : value Phi (users atoms n d) = M ^+ n * value (mean eta l c Phi n) d.
Proof.
elim: n d => [|n IH] d; first by rewrite mul1r.
rewrite [users _ _ _]/= IH value_one_more_user /value exprSr -mulrA; congr (_ * _).
rewrite big_distrr; apply: eq_bigr => p _; rewrite atomsE /=.
by rewrite mulrCA.
Qed.

Lemma mean_users n : M != 0 -> mean eta l c (@pos F) n 0 = ofZ F (excess (users atoms n [:: (0, 1)%ZZ])) / M ^+ n.
Proof.
move=> M0; rewrite excessE value_users /value big_seq1 /= mul1r mulrC mulrA mulVf ?mul1r //.
by rewrite expf_eq0 negb_and M0 orbT.
Qed.

End Tables.

(* Two-valued randomized response that lies to one in 20. For one user epsilon is log 19. *)
Section Certificate.

Variable F : realFieldType.

Definition response (x b : bool) : F := if x == b then 19%:R / 20%:R else 1%:R / 20%:R.

Let n20 : 20%:R != 0 :> F. Proof. by rewrite pnatr_eq0. Qed.

Lemma response_rows x : \sum_b response x b = 1.
Proof.
by rewrite big_bool /response; case: x; rewrite /= -mulrDl -natrD divff.
Qed.

(* With a = 3, in units of 1/20: 18 of nothing, one of 16, one of -56. *)
Definition response_atoms (x : bool) : table :=
  [:: (0, 18); (if x then 16 else -56, 1); (if x then -56 else 16, 1)]%ZZ.

(* Of 100 users: excess / (100 20^100) <= 187 / 100^2, in whole numbers. *)
Lemma response_computed x : certified (excess (users (response_atoms x) 100 [:: (0, 1)%ZZ])) 100 20 187 100 2.
Proof. case: x; vm_cast_no_check (erefl true). Qed.

Let eta (b : bool) : F := 1%:R / 20%:R.

Let mass : \sum_b eta b = 2%:R / 20%:R.
Proof. by rewrite big_bool /= -mulrDl -natrD. Qed.

Let ratio i j k : (i%:R / 20%:R - k%:R * (j%:R / 20%:R)) / (1%:R / 20%:R) = i%:R - (k * j)%:R :> F.
Proof. by rewrite [k%:R * _]mulrA -natrM -mulrBl [1%:R / _]mul1r invrK divfK. Qed.

Lemma response_atomsE x (f : F -> F) s :
  \sum_(q <- response_atoms x) ofZ F q.2 * f (s + ofZ F q.1)
  = 20%:R * ((1 - \sum_b eta b) * f s
      + \sum_b eta b * f (s + (response x b - 3%:R * response (~~ x) b) / eta b)).
Proof.
have truth : (19%:R / 20%:R - 3%:R * (1%:R / 20%:R)) / (1%:R / 20%:R) = ofZ F 16.
  by rewrite ratio -ofZ_difference.
have lie : (1%:R / 20%:R - 3%:R * (19%:R / 20%:R)) / (1%:R / 20%:R) = ofZ F (-56).
  by rewrite ratio -ofZ_difference.
have nothing : 20%:R * (1 - 2%:R / 20%:R) = ofZ F 18.
  by rewrite mulrBr mulr1 [_ * (2%:R / _)]mulrC divfK // -ofZ_difference.
have each (u : F) : 20%:R * (1%:R / 20%:R * u) = u by rewrite mulrA [_ * (1%:R / _)]mulrC divfK // mul1r.
rewrite mass big_bool [RHS]mulrDr [20%:R * (_ * f s)]mulrA nothing [20%:R * (_ + _)]mulrDr /eta !each.
rewrite !big_cons big_nil addr0 [ofZ F 0]/= addr0 [ofZ F 1]/= /response.
by case: x; rewrite /= truth lie !mul1r.
Qed.

(* So for all datasets of 100 users, what is seen of two that differ in one user is (log 3, 0.0187)-close. *)
Theorem response_100 (D D' : 'I_100 -> bool) (i : 'I_100) :
  (forall j, j != i -> D j = D' j) ->
  \sum_(h : {ffun bool -> 'I_101}) pos (law response D h - 3%:R * law response D' h) <= 187%:R / 100%:R ^+ 2.
Proof.
move=> differ.
have response_ge0 x b : 0 <= response x b by rewrite /response; case: ifP; rewrite divr_ge0 ?ler0n.
have [same | other] := eqVneq (D i) (D' i).
  (* Nobody differs. *)
  have all j : D j = D' j by have [-> | /differ] := eqVneq j i.
  rewrite big1 => [|h _]; first by rewrite divr_ge0 ?exprn_ge0 ?ler0n.
  have -> : law response D h = law response D' h.
    by apply: eq_bigr => y _; apply: eq_bigr => j _; rewrite all.
  apply/eqP; rewrite eq_le pos_ge0 andbT pos_le // subr_le0 ler_pemull ?ler1n //.
  by apply: sumr_ge0 => y _; apply: prodr_ge0 => j _.
have other_value : D' i = ~~ D i by move: other; case: (D i); case: (D' i).
have eta_gt0 b : 0 < eta b by rewrite divr_gt0 ?ltr0n.
have eta_le x b : eta b <= response x b.
  by rewrite /eta /response; case: ifP => // _; rewrite ler_pmul2r ?invr_gt0 ?ltr0n // ler_nat.
apply: le_trans (common_part response_rows (fun b => ltW (eta_gt0 b)) eta_le 3%:R differ) _.
rewrite /uncovered big_pred0 => [|b]; last by rewrite gt_eqF.
rewrite addr0 other_value blanket_bound_mean (mean_users (response_atomsE (D i)) 100 n20).
exact: (certifiedP F (response_computed (D i)) isT isT isT).
Qed.

End Certificate.

(* The bound of the lemma as one expectation, (1/n) E[(l_1 + ... + l_n)_+]. *)
(* Each l_k is l b with probability eta b, and 0 with the probability that is left. *)

From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From ShuffleDP Require Import Sums Shuffle Blanket.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Mean.

Variables (F : realFieldType) (Y : finType) (eta l : Y -> F) (c : F) (Phi : F -> F).

(* E[Phi(s + l_1 + ... + l_n)], one user at a time; c is the probability of 0. *)
Fixpoint mean n s : F := if n is n'.+1 then c * mean n' s + \sum_b eta b * mean n' (s + l b) else Phi s.

(* The same as one sum over all that n users can have: nothing, or a message. *)
Lemma meanE n s :
  mean n s
  = \sum_(y : n.-tuple (option Y)) (\prod_(o <- y) oapp eta c o) * Phi (s + \sum_(o <- y) oapp l 0 o).
Proof.
rewrite -/(total (oapp eta c) (oapp l 0) Phi n s).
elim: n s => [|n IH] s; first by rewrite total0.
rewrite totalS (bigD1 None) //= addr0 -IH; congr (_ + _).
rewrite (reindex_omap Some id) /= => [|[]//].
by apply: eq_big => b; rewrite ?eqxx // => _; rewrite IH.
Qed.

(* The same by the number of those who have a message. *)
Lemma mean_by_number n s :
  mean n s = \sum_(0 <= m < n.+1) 'C(n, m)%:R * (c ^+ (n - m) * total eta l Phi m s).
Proof.
elim: n s => [|n IH] s; first by rewrite big_nat1 bin0 expr0 !mul1r total0.
rewrite /= IH (eq_bigr _ (fun b _ => congr1 (fun u => eta b * u) (IH (s + l b)))).
pose E m := total eta l Phi m s.
have next : \sum_b eta b * (\sum_(0 <= m < n.+1) 'C(n, m)%:R * (c ^+ (n - m) * total eta l Phi m (s + l b)))
    = \sum_(m < n.+1) 'C(n, m)%:R * (c ^+ (n - m) * E m.+1).
  rewrite (eq_bigr _ (fun b _ => big_distrr _ _ _)) /= exchange_big big_mkord /=.
  apply: eq_bigr => m _; rewrite /E totalS !big_distrr; apply: eq_bigr => b _ /=.
  by rewrite mulrCA; congr (_ * _); rewrite mulrCA.
rewrite {}next !big_mkord [RHS]big_ord_recl bin0 mul1r subn0 /=.
under [in RHS]eq_bigr do rewrite /bump /= add1n binS natrD mulrDl subSS.
rewrite [in RHS]big_split addrA; congr (_ + _).
rewrite [in RHS]big_ord_recr /= bin_small // mul0r addr0.
rewrite big_ord_recl bin0 mul1r subn0 mulrDr mulrA -exprS; congr (_ + _).
rewrite big_distrr; apply: eq_bigr => m _ /=; rewrite /bump /= add1n.
by rewrite mulrCA mulrA -[in RHS](subnSK (ltn_ord m)) exprS !mulrA; congr (_ * _ * _).
Qed.

End Mean.

Section Bound.

Variables (F : realFieldType) (X Y : finType) (R : X -> Y -> F).
Hypothesis rows : forall x, \sum_y R x y = 1.
Variable eta : Y -> F.

Lemma blanket_bound_mean n (l : Y -> F) :
  blanket_bound eta n l = n%:R^-1 * mean eta l (1 - \sum_b eta b) (@pos F) n 0.
Proof.
rewrite /blanket_bound mean_by_number; congr (_ * _).
by rewrite [in RHS]big_nat_recl // total0 pos0 !mulr0 add0r big_add1.
Qed.

(* As the bound called numeric has it, for any eta below all rows. *)
Theorem privacy_blanket_expectation n (D D' : 'I_n -> X) (i : 'I_n) (a : F) :
  (forall b, 0 <= eta b) -> (forall x b, eta b <= R x b) ->
  (forall j, j != i -> D j = D' j) ->
  \sum_(h : {ffun Y -> 'I_n.+1}) pos (law R D h - a * law R D' h)
  <= n%:R^-1 * (\sum_(y : n.-tuple (option Y))
         (\prod_(o <- y) oapp eta (1 - \sum_b eta b) o)
         * pos (\sum_(o <- y) oapp (fun b => (R (D i) b - a * R (D' i) b) / eta b) 0 o))
     + \sum_(b | eta b == 0) pos (R (D i) b - a * R (D' i) b).
Proof.
move=> eta_ge0 eta_le differ; apply: le_trans (common_part rows eta_ge0 eta_le a differ) _.
rewrite blanket_bound_mean meanE /uncovered.
by under [X in n%:R^-1 * X]eq_bigr do rewrite add0r.
Qed.

End Bound.

(* Noise from the shuffler, the pure case. Each report is kept with probability 1 - 1/c, *)
(* and the shuffler adds a geometric number of dummies to every bin. *)
(* What is released is (2 log c, 0)-differentially private, for any number of users. *)

From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From ShuffleDP Require Import Sums Shuffle.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section ShufflerNoise.

Variables (F : realFieldType) (c : F).
Hypothesis c_gt1 : 1 < c.

(* c = e^(epsilon/2) on paper. *)
Let keep : F := 1 - c^-1.
Let q : F := (1 + c)^-1.

(* The probability that k reports come out of a bin which f users hold. *)
(* Without users there are the dummies alone; one user more is one report more with probability keep. *)
Fixpoint bin f k : F :=
  if f is f'.+1 then keep * (if k is k'.+1 then bin f' k' else 0) + (1 - keep) * bin f' k
  else (1 - q) * q ^+ k.

(* The same in one sum: of f reports j are kept, a binomial number, and k - j dummies are added, a geometric one. *)
Lemma binE f k :
  bin f k = \sum_(j < k.+1) 'C(f, j)%:R * keep ^+ j * (1 - keep) ^+ (f - j) * ((1 - q) * q ^+ (k - j)).
Proof.
elim: f k => [|f IH] k.
  rewrite big_ord_recl big1 => [|j _]; last by rewrite bin0n /= !mul0r.
  by rewrite bin0 !expr0 !mul1r subn0 addr0.
pose term j k' := keep ^+ j * (1 - keep) ^+ (f - j) * ((1 - q) * q ^+ (k' - j)).
have IH' k' : bin f k' = \sum_(j < k'.+1) 'C(f, j)%:R * term j k'.
  by rewrite IH; apply: eq_bigr => j _; rewrite /term !mulrA.
have dropped j k' : 'C(f, j)%:R * (keep ^+ j * (1 - keep) ^+ (f.+1 - j) * ((1 - q) * q ^+ (k' - j)))
    = (1 - keep) * ('C(f, j)%:R * term j k').
  case: (leqP j f) => [jf | fj]; last by rewrite bin_small // !mul0r mulr0.
  rewrite [RHS]mulrCA /term subSn // exprS; congr (_ * _).
  by rewrite -!mulrA mulrCA.
rewrite (eq_bigr (fun j : 'I_k.+1 => (if (j : nat) is j'.+1 then 'C(f, j')%:R else 0)
      * (keep ^+ j * (1 - keep) ^+ (f.+1 - j) * ((1 - q) * q ^+ (k - j)))
    + (1 - keep) * ('C(f, j)%:R * term j k))) => [|j _]; last first.
  rewrite -dropped -mulrDl -!mulrA; congr (_ * _).
  by case: (j : nat) => [|j']; rewrite ?bin0 ?add0r // binS natrD addrC.
rewrite big_split -big_distrr /= -IH'; congr (_ + _).
rewrite big_ord_recl mul0r add0r; case: k => [|k]; first by rewrite big_ord0 mulr0.
rewrite IH' big_distrr; apply: eq_bigr => j _ /=; rewrite /bump /= add1n !subSS exprS /term.
by rewrite mulrCA !mulrA.
Qed.
Let c_gt0 : 0 < c. Proof. exact: lt_trans ltr01 c_gt1. Qed.
Let c1_gt0 : 0 < 1 + c. Proof. exact: addr_gt0 ltr01 c_gt0. Qed.
Let dropE : 1 - keep = c^-1. Proof. exact: subKr. Qed.
Let drop_gt0 : 0 < 1 - keep. Proof. by rewrite dropE invr_gt0. Qed.
Let keep_ge0 : 0 <= keep. Proof. by rewrite /keep subr_ge0 invf_le1 // ltW. Qed.
Let q_gt0 : 0 < q. Proof. by rewrite /q invr_gt0. Qed.
Let q_le1 : q <= 1. Proof. by rewrite /q invf_le1 // ler_addl ltW. Qed.

Lemma bin_ge0 f k : 0 <= bin f k.
Proof.
elim: f k => [|f IH] k /=; first by rewrite mulr_ge0 ?subr_ge0 // exprn_ge0 // ltW.
by apply: addr_ge0; apply: mulr_ge0 => //; [case: k | apply: ltW].
Qed.

(* The law falls by a factor of q at most. *)
Lemma bin_falls f k : q * bin f k <= bin f k.+1.
Proof.
elim: f k => [|f IH] k /=; first by rewrite exprS mulrCA.
rewrite mulrDr [q * (keep * _)]mulrCA [q * (_ * bin f k)]mulrCA.
apply: ler_add; apply: ler_wpmul2l => //; last exact: ltW.
by case: k => [|k] //; rewrite mulr0 bin_ge0.
Qed.

(* One user more or less changes the probability of whatever comes out of a bin by a factor of at most c, either way. *)
Theorem one_more f k : bin f k <= c * bin f.+1 k.
Proof.
rewrite /= mulrDr [c * ((1 - keep) * _)]mulrA dropE mulfV ?gt_eqF // mul1r.
by apply: ler_paddl => //; apply: mulr_ge0 (ltW c_gt0) (mulr_ge0 keep_ge0 _); case: k => // k; apply: bin_ge0.
Qed.

Theorem one_less f k : bin f.+1 k <= c * bin f k.
Proof.
have before : (if k is k'.+1 then bin f k' else 0) <= (1 + c) * bin f k.
  case: k => [|k]; first exact: mulr_ge0 (ltW c1_gt0) (bin_ge0 _ _).
  by rewrite -[1 + c]invrK -/q ler_pdivl_mull // bin_falls.
rewrite /=; apply: le_trans (ler_add (ler_wpmul2l keep_ge0 before) (lexx _)) _.
rewrite mulrA -mulrDl; apply: ler_wpmul2r; first exact: bin_ge0.
have -> : keep * (1 + c) + (1 - keep) = c => //.
rewrite dropE /keep mulrBl mul1r mulrDr mulr1 mulVf ?gt_eqF //.
by rewrite opprD [- _ - 1]addrC addrA subrK [1 + c]addrC addrK.
Qed.

Variables (X : finType).

(* The probability that h comes out of a dataset of n users: the bins are independent. *)
Definition released n (D : 'I_n -> X) (h : X -> nat) : F := \prod_(x : X) bin #|[pred j | D j == x]| (h x).

Theorem shuffler_noise n (D D' : 'I_n -> X) (i : 'I_n) (h : X -> nat) :
  (forall j, j != i -> D j = D' j) -> released D h <= c ^+ 2 * released D' h.
Proof.
move=> differ; pose m x := #|[pred j | (j != i) && (D j == x)]|.
have holdD x : #|[pred j | D j == x]| = ((D i == x) + m x)%N.
  by rewrite (cardD1 i) inE; congr (_ + _)%N; apply: eq_card => j; rewrite !inE.
have holdD' x : #|[pred j | D' j == x]| = ((D' i == x) + m x)%N.
  rewrite (cardD1 i) inE; congr (_ + _)%N; apply: eq_card => j; rewrite !inE.
  by case: eqP => //= /eqP /differ ->.
have -> : c ^+ 2 = \prod_(x : X) c ^+ ((D i == x) + (D' i == x)).
  rewrite -expr_sum big_split /=; congr (_ ^+ _).
  have one y : (\sum_(x : X) (y == x) = 1)%N.
    by rewrite (bigD1 y) //= eqxx big1 // => x; rewrite eq_sym => /negbTE ->.
  by rewrite !one.
rewrite /released -big_split /=; apply: ler_prod => x _; rewrite bin_ge0 holdD holdD' /=.
case: (D i == x); case: (D' i == x); rewrite ?expr0 ?mul1r ?expr1 //=.
- by rewrite ler_pemull ?(bin_ge0 (m x).+1) // exprn_ege1 // ltW.
- exact: one_less.
- exact: one_more.
Qed.

End ShufflerNoise.

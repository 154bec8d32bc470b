(* The shuffle model for finite randomizers: what is sent, and what is seen of it. *)

From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From ShuffleDP Require Import Sums.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Histograms.

Variable Y : finType.

Lemma count_lt n (y : n.-tuple Y) b : (count_mem b y < n.+1)%N.
Proof. by rewrite ltnS -[X in (_ <= X)%N](size_tuple y) count_size. Qed.

(* How often each message is among n of them. *)
Definition histogram n (y : n.-tuple Y) : {ffun Y -> 'I_n.+1} := [ffun b => Ordinal (count_lt y b)].

(* It says which messages were sent and how often, and nothing else: this is what the shuffler releases. *)
Lemma histogramP n (y z : n.-tuple Y) : (histogram y == histogram z) = perm_eq y z.
Proof.
apply/eqP/idP => [same | /seq.permP same].
  by apply/allP => b _ /=; have := congr1 (fun h : {ffun Y -> 'I_n.+1} => val (h b)) same; rewrite !ffunE /= => ->.
by apply/ffunP => b; rewrite !ffunE; apply: val_inj; apply: same.
Qed.

(* A sum over all sequences is one over all histograms. *)
Lemma sum_by_histogram (F : realFieldType) n (f : n.-tuple Y -> F) :
  \sum_h \sum_(y | histogram y == h) f y = \sum_y f y.
Proof. by rewrite [RHS](partition_big (@histogram n) predT). Qed.

(* The same messages in another order. *)
Definition reorder n (s : 'S_n) (y : n.-tuple Y) : n.-tuple Y := [tuple tnth y (s j) | j < n].

Lemma histogram_reorder n (s : 'S_n) (y : n.-tuple Y) : histogram (reorder s y) = histogram y.
Proof. by apply/eqP; rewrite histogramP; apply/tuple_permP; exists s. Qed.

Lemma reorder_bij n (s : 'S_n) : bijective (@reorder n s).
Proof.
exists (@reorder n s^-1) => y; apply: eq_from_tnth => j; by rewrite !tnth_mktuple (permKV, permK).
Qed.

End Histograms.

Section Model.

Variables (F : realFieldType) (X Y : finType).

(* A randomizer: R x y is the probability that a user who holds x sends y. *)
Variable R : X -> Y -> F.

(* A dataset of n users: user i holds D i. The probability that they send y, each in the place of that user. *)
Definition sent n (D : 'I_n -> X) (y : n.-tuple Y) : F := \prod_(i < n) R (D i) (tnth y i).

(* The probability of a histogram: of all that can be sent and gives it. *)
Definition law n (D : 'I_n -> X) (h : {ffun Y -> 'I_n.+1}) : F := \sum_(y : n.-tuple Y | histogram y == h) sent D y.

(* Two datasets that differ in user i at most. *)
Definition neighbours n (i : 'I_n) (D D' : 'I_n -> X) := forall j, j != i -> D j = D' j.

(* The hockey-stick divergence of what is seen: the least delta for which a = e^epsilon gives (epsilon, delta). *)
Definition divergence n (a : F) (D D' : 'I_n -> X) : F :=
  \sum_(h : {ffun Y -> 'I_n.+1}) pos (law D h - a * law D' h).

(* Why that is differential privacy: no set of histograms tells more. *)
Lemma divergence_event n a (D D' : 'I_n -> X) (S : {set {ffun Y -> 'I_n.+1}}) :
  \sum_(h in S) law D h <= a * (\sum_(h in S) law D' h) + divergence a D D'.
Proof.
rewrite -ler_subl_addl big_distrr /= -sumrB /divergence [in leRHS](bigID (mem S)) /=.
apply: ler_paddr; first by apply: sumr_ge0 => h _; apply: pos_ge0.
by apply: ler_sum => h _; apply: le_pos.
Qed.

(* A law it is. *)
Lemma law_total n (D : 'I_n -> X) : (forall x, \sum_y R x y = 1) -> \sum_h law D h = 1.
Proof.
move=> rows; rewrite /law sum_by_histogram.
elim: n D => [|n IH] D; first by rewrite sum_nil /sent big_ord0.
rewrite sum_cons -[RHS](rows (D ord0)); apply: eq_bigr => b _.
rewrite -[RHS]mulr1 -[X in _ = _ * X](IH (fun j => D (lift ord0 j))) big_distrr; apply: eq_bigr => t _ /=.
by rewrite /sent big_ord_recl tnth0; congr (_ * _); apply: eq_bigr => j _; rewrite tnthS.
Qed.

End Model.

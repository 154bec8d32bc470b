(* The privacy blanket lemma for finite randomizers. *)

From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From ShuffleDP Require Import Sums Shuffle.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

(* Of the sets of users that contain user i, C(n, m) m / n have m members. *)
Lemma sum_over_sets_with (F : realFieldType) n (i : 'I_n) (c : nat -> F) :
  \sum_(B : {set 'I_n} | i \in B) #|B|%:R^-1 * c #|B|
  = n%:R^-1 * \sum_(1 <= m < n.+1) 'C(n, m)%:R * c m.
Proof.
pose S k := \sum_(B : {set 'I_n} | k \in B) #|B|%:R^-1 * c #|B|.
have S_same k : S k = S i.
  rewrite /S (reindex_inj (imset_inj (@perm_inj _ (tperm i k)))).
  apply: eq_big => B; first by rewrite -{1}(tpermL i k) mem_imset //; apply: perm_inj.
  by rewrite card_imset //; apply: perm_inj.
have n_gt0 : n%:R != 0 :> F by rewrite pnatr_eq0 -lt0n; case: n i {c S S_same} => [[]|].
apply: (mulfI n_gt0); rewrite mulrA mulfV // mul1r -/(S i).
transitivity (\sum_k S k).
  by rewrite (eq_bigr _ (fun k _ => S_same k)) sumr_const card_ord mulr_natl.
rewrite (exchange_big_dep predT) //=.
transitivity (\sum_(B : {set 'I_n} | (0 < #|B|)%N) c #|B|).
  rewrite [RHS]big_mkcond; apply: eq_bigr => B _; rewrite sumr_const.
  case: posnP => [-> | B_gt0]; first by rewrite mulr0n.
  by rewrite -mulrnAl -mulr_natr mulVf ?mul1r // pnatr_eq0 -lt0n.
rewrite (partition_big (fun B : {set 'I_n} => inord #|B| : 'I_n.+1) (fun m => (0 < m)%N)) /=; last first.
  by move=> B B_gt0; rewrite inordK // ltnS -[X in (_ <= X)%N](card_ord n) max_card.
rewrite big_add1 /= big_mkord big_mkcond big_ord_recl /= add0r.
apply: eq_bigr => m _; rewrite (eq_bigl (fun B : {set 'I_n} => B \in [set A : {set 'I_n} | #|A| == m.+1])) => [|B].
  rewrite (eq_bigr (fun _ => c m.+1)) => [|B]; last by rewrite inE => /eqP ->.
  by rewrite sumr_const card_draws card_ord mulr_natl.
rewrite inE -val_eqE /= inordK; last by rewrite ltnS -[X in (_ <= X)%N](card_ord n) max_card.
by case: eqP => [->|]; rewrite ?andbF.
Qed.

Section Blanket.

Variables (F : realFieldType) (X Y : finType) (R : X -> Y -> F).
Hypothesis rows : forall x, \sum_y R x y = 1.

(* What is common to all rows: any eta below all of them. Its mass is g. *)
Section Common.

Variable eta : Y -> F.
Hypothesis eta_ge0 : forall b, 0 <= eta b.
Hypothesis eta_le : forall x b, eta b <= R x b.

Let g := \sum_b eta b.

(* What the lemma bounds the divergence by, with l = (R x - a R x') / eta; and what it leaves out, where eta is 0. *)
Definition blanket_bound n (l : Y -> F) : F :=
  n%:R^-1 * \sum_(1 <= m < n.+1) 'C(n, m)%:R * ((1 - g) ^+ (n - m) * total eta l (@pos F) m 0).

Definition uncovered (v : Y -> F) : F := \sum_(b | eta b == 0) pos (v b).

Variables (n : nat) (i : 'I_n) (D D' : 'I_n -> X) (a : F).
Hypothesis differ : neighbours i D D'.

Let v b := R (D i) b - a * R (D' i) b.
Let l b := v b / eta b.

(* The others' messages are drawn from what is common, or from the rest of their own row; user i's counts as common. *)
Let rest (j : 'I_n) b := if j == i then 0 else R (D j) b - eta b.
Let weight (B : {set 'I_n}) (y : n.-tuple Y) : F :=
  \prod_(j < n) (if j \in B then eta (tnth y j) else rest j (tnth y j)).
Let others (y : n.-tuple Y) : F := \prod_(j < n | j != i) R (D j) (tnth y j).

Lemma weight_ge0 B y : 0 <= weight B y.
Proof.
apply: prodr_ge0 => j _; case: ifP => // _.
by rewrite /rest; case: ifP => // _; rewrite subr_ge0.
Qed.

Lemma others_ge0 y : 0 <= others y.
Proof. by apply: prodr_ge0 => j _; apply: le_trans (eta_le _ _). Qed.

(* Only user i's factor differs. *)
Lemma sent_difference y : sent R D y - a * sent R D' y = v (tnth y i) * others y.
Proof.
rewrite /sent (bigD1 i) //= -/(others y) [X in _ - a * X](bigD1 i) //=.
have -> : \prod_(j < n | j != i) R (D' j) (tnth y j) = others y.
  by apply: eq_bigr => j /differ ->.
by rewrite mulrA -mulrBl.
Qed.

(* Reveal who drew from what is common: B, of which user i is one. *)
Lemma reveal y : eta (tnth y i) * others y = \sum_(B : {set 'I_n} | i \in B) weight B y.
Proof.
transitivity (\prod_(j < n) (eta (tnth y j) + rest j (tnth y j))).
  rewrite [RHS](bigD1 i) //= {1}/rest eqxx addr0; congr (_ * _).
  by apply: eq_bigr => j /negbTE ji; rewrite /rest ji addrC subrK.
rewrite prodD (bigID (fun B : {set 'I_n} => i \in B)) /= [X in _ + X]big1 ?addr0 //.
by move=> B /negbTE iB; rewrite (bigD1 i) //= iB /rest eqxx mul0r.
Qed.

Lemma covered_and_not b : v b = l b * eta b + (if eta b == 0 then v b else 0).
Proof.
by rewrite /l; case: eqP => [-> | /eqP e0]; rewrite ?mulr0 ?add0r // divfK // addr0.
Qed.

(* Those in B are exchangeable: two of them may trade places. *)
Lemma weight_swap (B : {set 'I_n}) k y : i \in B -> k \in B -> weight B (reorder (tperm i k) y) = weight B y.
Proof.
move=> iB kB; rewrite /weight [RHS](reindex_inj (@perm_inj _ (tperm i k))).
apply: eq_bigr => j _; rewrite tnth_mktuple.
by case: tpermP => [-> | -> | _ _]; rewrite ?iB ?kB.
Qed.

(* So user i's message may be any of the messages of B, each with the same probability. *)
Lemma exchange (B : {set 'I_n}) h : i \in B ->
  \sum_(y : n.-tuple Y | histogram y == h) l (tnth y i) * weight B y
  = #|B|%:R^-1 * \sum_(y : n.-tuple Y | histogram y == h) weight B y * \sum_(k in B) l (tnth y k).
Proof.
move=> iB; pose S k := \sum_(y : n.-tuple Y | histogram y == h) l (tnth y k) * weight B y.
have S_same k : k \in B -> S k = S i.
  move=> kB; rewrite /S [RHS](reindex (reorder (tperm i k))); last by apply: onW_bij; apply: reorder_bij.
  apply: eq_big => y; first by rewrite histogram_reorder.
  by rewrite tnth_mktuple tpermL weight_swap.
have B_gt0 : #|B|%:R != 0 :> F by rewrite pnatr_eq0 -lt0n; apply/card_gt0P; exists i.
apply: (mulfI B_gt0); rewrite mulrA mulfV // mul1r -/(S i).
transitivity (\sum_(k in B) S k).
  by rewrite (eq_bigr _ S_same) sumr_const mulr_natl.
rewrite exchange_big; apply: eq_bigr => y _ /=.
by rewrite big_distrr; apply: eq_bigr => k _; rewrite /= mulrC.
Qed.

(* Forget what the rest sent: only the number of those in B matters. *)
Lemma forget (B : {set 'I_n}) : i \in B ->
  \sum_(y : n.-tuple Y) weight B y * pos (\sum_(k in B) l (tnth y k))
  = (1 - g) ^+ (n - #|B|) * total eta l (@pos F) #|B| 0.
Proof.
move=> iB; have mass j : ~~ (j \in B) -> \sum_b rest j b = 1 - g.
  move=> jB; rewrite /rest; case: eqP => [ji | _]; first by rewrite ji iB in jB.
  by rewrite sumrB rows.
have number : (\sum_(j < n) (j \in B))%N = #|B|.
  by rewrite -sum1_card [RHS]big_mkcond; apply: eq_bigr => j _; case: (j \in B).
have the_rest : (\sum_(j < n) (j \notin B))%N = (n - #|B|)%N.
  transitivity #|~: B|; last by rewrite cardsCs setCK card_ord.
  by rewrite -sum1_card [RHS]big_mkcond; apply: eq_bigr => j _; rewrite inE; case: (j \in B).
have := sum_of_two_kinds eta l (@pos F) 0 mass; rewrite number the_rest => <-.
by apply: eq_bigr => y _; rewrite add0r.
Qed.

(* The lemma for any common part. *)
Theorem common_part :
  divergence R a D D' <= blanket_bound n (fun b => (R (D i) b - a * R (D' i) b) / eta b)
    + uncovered (fun b => R (D i) b - a * R (D' i) b).
Proof.
pose T (B : {set 'I_n}) h :=
  #|B|%:R^-1 * \sum_(y : n.-tuple Y | histogram y == h) weight B y * \sum_(k in B) l (tnth y k).
pose U y := (if eta (tnth y i) == 0 then v (tnth y i) else 0) * others y.
have split h : law R D h - a * law R D' h
    = \sum_(B : {set 'I_n} | i \in B) T B h + \sum_(y : n.-tuple Y | histogram y == h) U y.
  rewrite /law big_distrr /= -sumrB.
  rewrite (eq_bigr _ (fun B iB => esym (exchange h iB))) exchange_big -big_split /=.
  apply: eq_bigr => y _; rewrite sent_difference covered_and_not mulrDl -mulrA reveal.
  by rewrite big_distrr.
apply: (@le_trans _ _ (\sum_h (\sum_(B : {set 'I_n} | i \in B) pos (T B h)
    + \sum_(y : n.-tuple Y | histogram y == h) pos (U y)))).
  apply: ler_sum => h _; rewrite split; apply: le_trans (posD _ _) _.
  by apply: ler_add; apply: pos_sum.
rewrite big_split /=; apply: ler_add.
  rewrite exchange_big /= /blanket_bound.
  rewrite -(sum_over_sets_with i (fun m => (1 - g) ^+ (n - m) * total eta _ (@pos F) m 0)).
  apply: ler_sum => B iB; rewrite -forget // -sum_by_histogram big_distrr /=.
  apply: ler_sum => h _; rewrite posM ?invr_ge0 ?ler0n //; apply: ler_wpmul2l; first by rewrite invr_ge0 ler0n.
  apply: le_trans (pos_sum _ _ _) _; apply: ler_sum => y _.
  by rewrite posM ?weight_ge0.
rewrite sum_by_histogram /uncovered.
(* Whatever the others send, it is user i's message that is uncovered. *)
pose u b := if eta b == 0 then pos (v b) else 0.
have Uu y : pos (U y) = (\prod_(j < n) (if j == i then u (tnth y j) else R (D j) (tnth y j))) * 1.
  rewrite mulr1 (bigD1 i) //= eqxx (eq_bigr (fun j => R (D j) (tnth y j))) => [|j /negbTE -> //].
  rewrite /U [X in pos X]mulrC (posM _ (others_ge0 y)) -/(others y) [RHS]mulrC /u; congr (_ * _).
  by case: ifP => // _; rewrite pos0.
rewrite (eq_bigr _ (fun y _ => Uu y)).
rewrite (sum_of_two_kinds u (fun _ => 0) (fun _ => 1) (c := 1) 0 (P := fun j => j == i) (rest := fun j => R (D j))).
  have -> : (\sum_(j < n) (j == i))%N = 1%N.
    by rewrite (bigD1 i) //= eqxx big1 // => j /negbTE ->.
  rewrite expr1n mul1r totalS (eq_bigr u) => [|b _]; last by rewrite total0 mulr1.
  by rewrite /u -big_mkcond.
by move=> j _; apply: rows.
Qed.

End Common.

(* The overlap of all rows, its mass, and the privacy blanket: the law that it is in proportion to. *)
(* The 1 only gives the minimum something to start from: no probability is above it. *)
Definition overlap b : F := \big[Num.min/1]_(x : X) R x b.
Definition g : F := \sum_b overlap b.
Definition w b : F := overlap b / g.

Lemma overlap_le x b : overlap b <= R x b.
Proof. by apply: min_le; apply: mem_index_enum. Qed.

(* The overlap is a minimum: some row attains it. *)
Lemma overlap_attained b (x0 : X) : (forall x c, 0 <= R x c) -> exists x, overlap b = R x b.
Proof.
move=> R_ge0; case: (min_attained (index_enum X) 1 (fun x => R x b)) => // is1.
exists x0; apply/eqP; rewrite eq_le overlap_le /= /overlap is1 -[leRHS](rows x0) (bigD1 b) //=.
by rewrite ler_addl; apply: sumr_ge0.
Qed.

Lemma overlapE b : g != 0 -> overlap b = g * w b.
Proof. by move=> g0; rewrite /w mulrC divfK. Qed.

(* In terms of the blanket. *)
Lemma total_blanket (v : Y -> F) m : 0 < g ->
  total overlap (fun b => v b / overlap b) (@pos F) m 0
  = g^-1 * (g ^+ m * \sum_(y : m.-tuple Y) (\prod_(b <- y) w b) * pos (\sum_(b <- y) v b / w b)).
Proof.
move=> g_gt0; have g0 : g != 0 by rewrite gt_eqF.
rewrite /total !big_distrr; apply: eq_bigr => y _ /=.
have -> : \prod_(b <- y) overlap b = g ^+ m * \prod_(b <- y) w b.
  rewrite -[in g ^+ m](size_tuple y); elim: (tval y) => [|b r IH] /=; first by rewrite !big_nil mulr1.
  by rewrite !big_cons IH exprS overlapE // mulrACA.
have -> : 0 + \sum_(b <- y) v b / overlap b = g^-1 * \sum_(b <- y) v b / w b.
  by rewrite add0r big_distrr; apply: eq_bigr => b _; rewrite /= (overlapE _ g0) invfM mulrCA.
by rewrite posM ?invr_ge0 1?ltW // mulrCA -mulrA.
Qed.

Lemma bound_blanket n (v : Y -> F) : 0 < g ->
  blanket_bound overlap n (fun b => v b / overlap b)
  = (1 / (g * n%:R)) * \sum_(1 <= m < n.+1) 'C(n, m)%:R * g ^+ m * (1 - g) ^+ (n - m)
      * \sum_(y : m.-tuple Y) (\prod_(b <- y) w b) * pos (\sum_(b <- y) v b / w b).
Proof.
move=> g_gt0; rewrite /blanket_bound div1r invfM -mulrA [RHS]mulrCA; congr (_ * _).
rewrite big_distrr; apply: eq_bigr => m _ /=; rewrite total_blanket // -!mulrA [RHS]mulrCA; congr (_ * _).
by rewrite mulrCA; congr (_ * _); rewrite mulrCA.
Qed.

(* The lemma where a message may be impossible for some inputs, so that nothing covers it: that part is paid in full. *)
Theorem privacy_blanket_with_zeros n (D D' : 'I_n -> X) (i : 'I_n) (a : F) :
  (forall x b, 0 <= R x b) -> 0 < g ->
  (forall j, j != i -> D j = D' j) ->
  \sum_(h : {ffun Y -> 'I_n.+1}) pos (law R D h - a * law R D' h)
  <= (1 / (g * n%:R)) * (\sum_(1 <= m < n.+1) 'C(n, m)%:R * g ^+ m * (1 - g) ^+ (n - m)
       * \sum_(y : m.-tuple Y) (\prod_(b <- y) w b)
           * pos (\sum_(b <- y) (R (D i) b - a * R (D' i) b) / w b))
     + \sum_(b | overlap b == 0) pos (R (D i) b - a * R (D' i) b).
Proof.
move=> R_ge0 g_gt0 differ.
have overlap_ge0 b : 0 <= overlap b by have [x ->] := overlap_attained b (D i) R_ge0.
apply: le_trans (common_part overlap_ge0 overlap_le a differ) _.
by rewrite (bound_blanket n (fun b => R (D i) b - a * R (D' i) b)) //.
Qed.

(* The privacy blanket lemma. *)
Theorem privacy_blanket n (D D' : 'I_n -> X) (i : 'I_n) (a : F) :
  (forall x b, 0 < R x b) ->
  (forall j, j != i -> D j = D' j) ->
  \sum_(h : {ffun Y -> 'I_n.+1}) pos (law R D h - a * law R D' h)
  <= (1 / (g * n%:R)) * \sum_(1 <= m < n.+1) 'C(n, m)%:R * g ^+ m * (1 - g) ^+ (n - m)
       * \sum_(y : m.-tuple Y) (\prod_(b <- y) w b)
           * pos (\sum_(b <- y) (R (D i) b - a * R (D' i) b) / w b).
Proof.
move=> R_gt0 differ; have R_ge0 x b : 0 <= R x b by apply: ltW.
have overlap_gt0 b : 0 < overlap b by have [x ->] := overlap_attained b (D i) R_ge0.
have [b0 _] : exists b : Y, true.
  case: (pickP (@predT Y)) => [b _ | empty]; first by exists b.
  by have := rows (D i); rewrite big_pred0 // => /eqP; rewrite eq_sym oner_eq0.
have g_gt0 : 0 < g.
  by rewrite /g (bigD1 b0) //=; apply: ltr_paddr => //; apply: sumr_ge0 => b _; apply: ltW.
apply: le_trans (privacy_blanket_with_zeros _ R_ge0 g_gt0 differ) _.
by rewrite [X in _ + X]big_pred0 ?addr0 // => b; rewrite gt_eqF.
Qed.

End Blanket.


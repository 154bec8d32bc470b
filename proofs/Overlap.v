(* A smaller overlap is only worse: the bound grows when less is taken to be common to all rows, *)
(* and, in design response, when two sets of messages have less in common. *)

From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From ShuffleDP Require Import Sums Shuffle Blanket Expectation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Convex.

Variable F : realFieldType.

Definition convex (Phi : F -> F) :=
  forall p s t, 0 <= p -> p <= 1 -> Phi (p * s + (1 - p) * t) <= p * Phi s + (1 - p) * Phi t.

Lemma pos_convex : convex (@pos F).
Proof.
move=> p s t p_ge0 p_le1; apply: le_trans (posD _ _) _.
by rewrite !posM // subr_ge0.
Qed.

Variables (Y : finType) (eta l : Y -> F) (c : F) (Phi : F -> F).
Hypotheses (eta_ge0 : forall b, 0 <= eta b) (c_ge0 : 0 <= c) (Phi_convex : convex Phi).

(* Adding what is independent keeps a function convex. *)
Lemma mean_convex n : convex (mean eta l c Phi n).
Proof.
elim: n => [|n IH] // p s t p_ge0 p_le1 /=.
have -> : p * (c * mean eta l c Phi n s + \sum_b eta b * mean eta l c Phi n (s + l b))
    + (1 - p) * (c * mean eta l c Phi n t + \sum_b eta b * mean eta l c Phi n (t + l b))
  = c * (p * mean eta l c Phi n s + (1 - p) * mean eta l c Phi n t)
    + \sum_b eta b * (p * mean eta l c Phi n (s + l b) + (1 - p) * mean eta l c Phi n (t + l b)).
  rewrite !mulrDr addrACA !big_distrr /= -big_split /=; congr (_ + _); first by rewrite !(mulrCA c).
  by apply: eq_bigr => b _; rewrite mulrDr !(mulrCA (eta b)).
apply: ler_add; first by apply: ler_wpmul2l => //; apply: IH.
apply: ler_sum => b _; apply: ler_wpmul2l => //.
have -> : p * s + (1 - p) * t + l b = p * (s + l b) + (1 - p) * (t + l b).
  by rewrite !mulrDr addrACA -mulrDl addrCA subrr addr0 mul1r.
exact: IH.
Qed.

End Convex.

Section SmallerOverlap.

Variables (F : realFieldType) (Y : finType) (v : Y -> F) (eta eta' : Y -> F).
Hypotheses (eta'_gt0 : forall b, 0 < eta' b) (smaller : forall b, eta' b <= eta b) (mass : \sum_b eta b <= 1).

Lemma mean_smaller (Phi : F -> F) n s : convex Phi ->
  mean eta (fun b => v b / eta b) (1 - \sum_b eta b) Phi n s
  <= mean eta' (fun b => v b / eta' b) (1 - \sum_b eta' b) Phi n s.
Proof.
move=> Phi_convex.
have eta_gt0 b : 0 < eta b by apply: lt_le_trans (smaller b).
have mass' : \sum_b eta' b <= 1 by apply: le_trans mass; apply: ler_sum.
elim: n s => [|n IH] s //=.
pose M := mean eta' (fun b => v b / eta' b) (1 - \sum_b eta' b) Phi n.
have M_convex : convex M by apply: mean_convex => // [b|]; rewrite ?subr_ge0 // ltW.
apply: (@le_trans _ _ ((1 - \sum_b eta b) * M s + \sum_b eta b * M (s + v b / eta b))).
  apply: ler_add; first by apply: ler_wpmul2l; rewrite ?subr_ge0 //; apply: IH.
  by apply: ler_sum => b _; apply: ler_wpmul2l; [apply: ltW | apply: IH].
have -> : (1 - \sum_b eta' b) * M s = (1 - \sum_b eta b) * M s + \sum_b (eta b - eta' b) * M s.
  by rewrite -big_distrl -mulrDl sumrB /= addrA subrK.
rewrite -addrA ler_add2l -big_split /=; apply: ler_sum => b _.
(* s + v / eta is between s + v / eta' and s. *)
have [p pE] : exists p, p = eta' b / eta b by exists (eta' b / eta b).
have eta0 : eta b != 0 by rewrite gt_eqF.
have eta'0 : eta' b != 0 by rewrite gt_eqF.
have pv : p * (v b / eta' b) = v b / eta b by rewrite pE mulrC mulrA divfK.
have etap : eta b * p = eta' b by rewrite pE mulrC divfK.
have -> : s + v b / eta b = p * (s + v b / eta' b) + (1 - p) * s.
  by rewrite mulrDr pv mulrBl mul1r addrAC [p * s + _]addrC subrK.
have p_ge0 : 0 <= p by rewrite pE divr_ge0 // ltW.
have p_le1 : p <= 1 by rewrite pE ler_pdivr_mulr // mul1r.
apply: le_trans (ler_wpmul2l (ltW (eta_gt0 b)) (M_convex p _ _ p_ge0 p_le1)) _.
by rewrite mulrDr !mulrA etap mulrBr mulr1 etap addrC.
Qed.

(* For the bound of the lemma. *)
Theorem smaller_overlap n :
  blanket_bound eta n (fun b => v b / eta b) <= blanket_bound eta' n (fun b => v b / eta' b).
Proof.
rewrite !blanket_bound_mean; apply: ler_wpmul2l; first by rewrite invr_ge0 ler0n.
by apply: mean_smaller; apply: pos_convex.
Qed.

End SmallerOverlap.

(* The overlap of two sets of messages, in design response. *)
(* Messages in S_x alone or in S_x' alone have share s - o each, those in both o, those in neither the rest. *)
Section SharedMessages.

Variables (F : realFieldType) (a c g s : F).
Hypotheses (a_ge0 : 0 <= a) (c_ge0 : 0 <= c) (g_ge0 : 0 <= g) (g_le1 : g <= 1).

(* In S_x or not, in S_x' or not. *)
Definition share (o : F) (b : bool * bool) : F :=
  g * (if b.1 then if b.2 then o else s - o else if b.2 then s - o else 1 - s - s + o).
Definition jump (b : bool * bool) : F := (if b.1 then c else 0) - (if b.2 then a * c else 0) + (1 - a).

(* Two jumps, up and down, are worth more apart than at once. *)
Lemma jumps_apart (f : F -> F) t u v : convex f -> 0 <= u -> 0 <= v -> f (t + (u - v)) + f t <= f (t + u) + f (t - v).
Proof.
move=> f_convex u_ge0 v_ge0.
have [sum0 | sum0] := eqVneq (u + v) 0.
  have /andP[/eqP -> /eqP ->] : (u == 0) && (v == 0) by rewrite -paddr_eq0 // sum0.
  by rewrite !subr0 !addr0.
have sum_gt0 : 0 < u + v by rewrite lt_neqAle eq_sym sum0 addr_ge0.
have [p pE] : exists p, p * (u + v) = u by exists (u / (u + v)); rewrite divfK.
have p_ge0 : 0 <= p by rewrite -(pmulr_lge0 _ sum_gt0) pE.
have p_le1 : p <= 1 by rewrite -(ler_pmul2r sum_gt0) pE mul1r ler_addl.
have between r : r * (t + u) + (1 - r) * (t - v) = t - v + r * (u + v).
  rewrite mulrBl mul1r addrCA -mulrBr; congr (_ + _ * _).
  by rewrite opprB [t + u]addrC [v - t]addrC addrA addrK.
have := f_convex p (t + u) (t - v) p_ge0 p_le1.
have := f_convex (1 - p) (t + u) (t - v).
rewrite subr_ge0 ler_subl_addr ler_addl => /(_ p_le1 p_ge0); rewrite !between subKr mulrBl mul1r pE.
rewrite [u + v]addrC addrK subrK -addrA [- v + u]addrC => first second.
apply: le_trans (ler_add second first) _.
by rewrite addrACA -!mulrDl [1 - p + p]subrK addrCA subrr addr0 !mul1r.
Qed.

Lemma share_ge0 o b : 0 <= o -> o <= s -> s + s <= 1 + o -> 0 <= share o b.
Proof.
move=> o_ge0 os ss; apply: mulr_ge0 => //; case: b => [[] []] //=; rewrite ?subr_ge0 //.
by rewrite addrAC [1 - s + o]addrAC subr_ge0 ler_subr_addr.
Qed.

Lemma share_difference o o' b : share o' b - share o b = (if b.1 == b.2 then -1 else 1) * (g * (o - o')).
Proof.
rewrite /share -mulrBr [RHS]mulrCA; congr (_ * _); case: b => [[] []] /=; rewrite ?mulN1r ?mul1r ?opprB //.
- by rewrite addrC addrA subrK addrC.
- by rewrite addrC addrA subrK addrC.
- by rewrite opprD addrACA subrr add0r.
Qed.

Lemma sum_of_four (h : bool * bool -> F) :
  \sum_b h b = h (true, true) + h (true, false) + (h (false, true) + h (false, false)).
Proof.
rewrite (eq_bigr (fun b => h (b.1, b.2))) => [|[]//].
by rewrite -(pair_bigA _ (fun b1 b2 => h (b1, b2))) /= !big_bool.
Qed.

(* Design response where two sets have less in common: the bound is larger, never smaller. *)
Theorem smaller_share o o' n t : 0 <= o' -> o' <= o -> o <= s -> s + s <= 1 + o' ->
  mean (share o) jump (1 - g) (@pos F) n t <= mean (share o') jump (1 - g) (@pos F) n t.
Proof.
move=> o'_ge0 o'o os ss; have o_ge0 := le_trans o'_ge0 o'o; have o's := le_trans o'o os.
have ss' : s + s <= 1 + o by apply: le_trans ss _; rewrite ler_add2l.
elim: n t => [|n IH] t //=; set M := mean (share o') jump (1 - g) (@pos F) n.
have M_convex : convex M.
  by apply: mean_convex; [move=> b; apply: share_ge0 | rewrite subr_ge0 | apply: pos_convex].
apply: (@le_trans _ _ ((1 - g) * M t + \sum_b share o b * M (t + jump b))).
  apply: ler_add; first by apply: ler_wpmul2l; rewrite ?subr_ge0 //; apply: IH.
  by apply: ler_sum => b _; apply: ler_wpmul2l; [apply: share_ge0 | apply: IH].
rewrite ler_add2l -subr_ge0 -sumrB (eq_bigr _ (fun b _ => esym (mulrBl _ _ _))).
rewrite (eq_bigr _ (fun b _ => congr1 (fun z => z * M (t + jump b)) (share_difference o o' b))).
rewrite sum_of_four /= !mulN1r !mul1r !mulNr addrC addrACA -!mulrN -!mulrDr.
apply: mulr_ge0; first by rewrite mulr_ge0 // subr_ge0.
have moved z : t + (z + (1 - a)) = t + (1 - a) + z by rewrite (addrCA t z) addrC.
have ac_ge0 : 0 <= a * c by apply: mulr_ge0.
have := jumps_apart (t + (1 - a)) M_convex c_ge0 ac_ge0.
rewrite /jump /= !moved !subr0 !addr0 sub0r -subr_ge0 => apart.
have together (x y z u : F) : 0 <= u + x - (y + z) -> 0 <= x - y + (- z + u).
  by rewrite [- z + u]addrC addrACA -opprD [x + u]addrC.
exact: together apart.
Qed.

End SharedMessages.

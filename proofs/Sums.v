(* Finite sums: positive parts, and sums over all sequences of n messages. *)

From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section PositivePart.

Variable F : realFieldType.
Implicit Types u v c : F.

(* (u)_+ on paper. *)
Definition pos u : F := Num.max 0 u.

Lemma pos_ge0 u : 0 <= pos u.
Proof. by rewrite /pos le_maxr lexx. Qed.

Lemma le_pos u : u <= pos u.
Proof. by rewrite /pos le_maxr lexx orbT. Qed.

Lemma pos_le u v : u <= v -> 0 <= v -> pos u <= v.
Proof. by move=> uv v0; rewrite /pos le_maxl v0 uv. Qed.

Lemma pos_id u : 0 <= u -> pos u = u.
Proof. by move=> u0; rewrite /pos max_r. Qed.

Lemma pos0 : pos 0 = 0.
Proof. exact: pos_id. Qed.

Lemma posM c u : 0 <= c -> pos (c * u) = c * pos u.
Proof. by move=> c0; rewrite /pos maxr_pmulr // mulr0. Qed.

(* The positive part of a sum is at most the sum of positive parts. *)
Lemma posD u v : pos (u + v) <= pos u + pos v.
Proof. by apply: pos_le; [apply: ler_add; apply: le_pos | apply: addr_ge0; apply: pos_ge0]. Qed.

Lemma pos_sum (I : Type) (r : seq I) (P : pred I) (f : I -> F) :
  pos (\sum_(i <- r | P i) f i) <= \sum_(i <- r | P i) pos (f i).
Proof.
apply: pos_le; first by apply: ler_sum => i _; apply: le_pos.
by apply: sumr_ge0 => i _; apply: pos_ge0.
Qed.

(* The smallest of finitely many. *)
Lemma min_le (I : eqType) (r : seq I) (u0 : F) (f : I -> F) i :
  i \in r -> \big[Num.min/u0]_(j <- r) f j <= f i.
Proof.
elim: r => // j r IH; rewrite inE big_cons le_minl => /orP[/eqP -> | /IH ->]; first by rewrite lexx.
by rewrite orbT.
Qed.

Lemma min_attained (I : Type) (r : seq I) (u0 : F) (f : I -> F) :
  \big[Num.min/u0]_(j <- r) f j = u0 \/ exists i, \big[Num.min/u0]_(j <- r) f j = f i.
Proof.
elim: r => [|j r IH]; first by left; rewrite big_nil.
by rewrite big_cons; case: leP => _; [right; exists j | ].
Qed.

End PositivePart.

(* A product of sums of two: choose a set of factors that give the first. *)
Lemma prodD (F : realFieldType) (I : finType) (u v : I -> F) :
  \prod_i (u i + v i) = \sum_(B : {set I}) \prod_i (if i \in B then u i else v i).
Proof.
transitivity (\prod_i \sum_(c : bool) (if c then u i else v i)).
  by apply: eq_bigr => i _; rewrite big_bool.
rewrite bigA_distr_bigA (reindex (fun B : {set I} => [ffun i => i \in B])) /=.
  by apply: eq_bigr => B _; apply: eq_bigr => i _; rewrite ffunE.
exists (fun f : {ffun I -> bool} => [set i | f i]) => [B _ | f _].
  by apply/setP => i; rewrite inE ffunE.
by apply/ffunP => i; rewrite ffunE inE.
Qed.

Section Sequences.

Variables (F : realFieldType) (Y : finType).

(* A sequence of n + 1 messages is a message and a sequence of n. *)
Lemma sum_cons n (f : n.+1.-tuple Y -> F) :
  \sum_y f y = \sum_(b : Y) \sum_(t : n.-tuple Y) f [tuple of b :: t].
Proof.
rewrite pair_big /=.
rewrite (reindex (fun p : Y * n.-tuple Y => [tuple of p.1 :: p.2])) //=.
exists (fun y : n.+1.-tuple Y => (thead y, [tuple of behead y])) => [[b t] _ | y _] /=.
  by congr pair; apply: val_inj.
by rewrite [RHS]tuple_eta; apply: val_inj.
Qed.

Lemma sum_nil (f : 0.-tuple Y -> F) : \sum_y f y = f [tuple].
Proof.
rewrite (eq_bigr (fun _ => f [tuple])) => [|y _]; last by rewrite tuple0.
by rewrite sumr_const card_tuple expn0.
Qed.

Variables (eta l : Y -> F) (Phi : F -> F).

(* The sum over all sequences of m messages, each with weight eta, of Phi of the sum of their l's, started at s. *)
Definition total m s : F :=
  \sum_(y : m.-tuple Y) (\prod_(b <- y) eta b) * Phi (s + \sum_(b <- y) l b).

Lemma total0 s : total 0 s = Phi s.
Proof. by rewrite /total sum_nil !big_nil mul1r addr0. Qed.

Lemma totalS m s : total m.+1 s = \sum_b eta b * total m (s + l b).
Proof.
rewrite /total sum_cons; apply: eq_bigr => b _.
rewrite big_distrr; apply: eq_bigr => t _ /=.
by rewrite !big_cons mulrA addrA.
Qed.

(* Of n senders those in P send by eta and count. The others send by laws of their own, of mass c each, and do not. *)
(* The sum over all that can be sent depends on their numbers alone. *)
Lemma sum_of_two_kinds n (P : 'I_n -> bool) (rest : 'I_n -> Y -> F) (c s : F) :
  (forall j, ~~ P j -> \sum_b rest j b = c) ->
  \sum_(y : n.-tuple Y) (\prod_(j < n) (if P j then eta (tnth y j) else rest j (tnth y j)))
    * Phi (s + \sum_(j < n | P j) l (tnth y j))
  = c ^+ (\sum_(j < n) ~~ P j)%N * total (\sum_(j < n) P j)%N s.
Proof.
elim: n P rest s => [|n IH] P rest s mass.
  by rewrite sum_nil !big_ord0 expr0 mul1r total0 mul1r addr0.
pose P' j := P (lift ord0 j); pose rest' j := rest (lift ord0 j).
have step b : \sum_(t : n.-tuple Y)
    (\prod_(j < n.+1) (if P j then eta (tnth [tuple of b :: t] j) else rest j (tnth [tuple of b :: t] j)))
      * Phi (s + \sum_(j < n.+1 | P j) l (tnth [tuple of b :: t] j))
  = (if P ord0 then eta b else rest ord0 b) * (c ^+ (\sum_(j < n) ~~ P' j)%N
      * total (\sum_(j < n) P' j)%N (s + if P ord0 then l b else 0)).
  rewrite -(IH P' rest'); last by move=> j; apply: mass.
  rewrite big_distrr; apply: eq_bigr => t _ /=.
  rewrite big_ord_recl tnth0 -mulrA; congr (_ * (_ * Phi _)).
    by apply: eq_bigr => j _; rewrite tnthS.
  rewrite -addrA big_mkcond big_ord_recl tnth0 [in RHS]big_mkcond; congr (_ + (_ + _)).
  by apply: eq_bigr => j _; rewrite tnthS.
rewrite sum_cons (eq_bigr _ (fun b _ => step b)) !big_ord_recl.
case: (boolP (P ord0)) => P0 /=.
  rewrite add0n add1n totalS big_distrr; apply: eq_bigr => b _ /=.
  by rewrite mulrCA.
by rewrite -big_distrl /= mass // add0n add1n exprS addr0 mulrA.
Qed.

End Sequences.

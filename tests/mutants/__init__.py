"""Planted bugs: one at a time in the code that privacy rests on, to see which ones no test notices (docs/mutants.md)."""

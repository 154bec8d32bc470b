"""Empirical lower bounds on epsilon: what an attacker who tries can show."""

"""Certificates of privacy claims, and checking them anew in ball arithmetic: nothing of the accountant is used."""

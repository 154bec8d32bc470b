"""Families of protocols that are planned, one a file, each with the question that it answers if no other file has that."""

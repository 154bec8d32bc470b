"""What is said in the end: a result with its guarantee, what is read off it, and what earlier results cost."""

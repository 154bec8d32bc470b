"""From a question to parameters: what to run, what it guarantees, how far off the answer will be."""

"""The protocols that the paper measures itself against: real ones, with exact variances, for comparison.

Each has `randomize` (one user's messages from words), `estimate`, an exact `mean_squared_error` or `variance`, and `simulate`,
whose estimates follow the protocol's law exactly for any number of users. Probabilities that run are multiples of 2^-64.
"""

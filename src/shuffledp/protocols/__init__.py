"""A randomizer and its unbiased estimator: pure functions from values to messages and from counts to estimates."""

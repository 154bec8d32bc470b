"""From a blanket to a privacy claim: the bounds, and one solver that inverts any of them."""

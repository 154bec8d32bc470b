"""Local randomizers: a user's value in, one message out, and the privacy blanket that comes with it."""

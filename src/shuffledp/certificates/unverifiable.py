"""What a checker says if it has no method for a claim."""


class Unverifiable(Exception):  # noqa: N818
    """The claim may be true, but there is no independent method for it here; says what for."""

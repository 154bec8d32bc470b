"""What randomizers have in common that send the truth: others hide it, by dummies of their own or of the shuffler."""


class Truthful:
    """Nobody ignores the value, so that nothing protects a user's messages on their own."""

    __slots__ = ()

    @property
    def gamma(self) -> float:
        """The probability of ignoring the value."""
        return 0.0

    @property
    def epsilon0(self) -> None:
        """There is none."""

"""What becomes of a report, in the words of the wire."""

from enum import StrEnum


class Outcome(StrEnum):
    """One word per report: said by a shuffler to whoever sends it, and by an analyzer of what it could not count."""

    ACCEPTED = "accepted"
    REPORT_REPLAYED = "report_replayed"
    BATCH_COLLECTED = "batch_collected"
    OUTDATED_CONFIG = "outdated_config"
    OUTDATED_KEY = "outdated_key"
    NOT_ADMITTED = "not_admitted"
    INVALID_MESSAGE = "invalid_message"
    DECRYPT_ERROR = "decrypt_error"
    OUT_OF_DOMAIN = "out_of_domain"

    @property
    def arrived(self) -> bool:
        """Whether the shuffler has the report: a replay means that an earlier attempt had arrived."""
        return self in (Outcome.ACCEPTED, Outcome.REPORT_REPLAYED)

    @property
    def from_shuffler(self) -> bool:
        """Whether a shuffler can say it; only an analyzer sees what is out of the domain."""
        return self is not Outcome.OUT_OF_DOMAIN

"""Real texts: the words of Python's own reference manual, as the standard library ships them (pydoc_data.topics)."""

import re
from importlib import import_module


def words() -> list[str]:
    """All of them, in their order: some 64,000, of which some 3,000 are different."""
    topics: dict[str, str] = import_module("pydoc_data.topics").topics
    return re.findall("[a-z]+", " ".join(topics.values()).lower())

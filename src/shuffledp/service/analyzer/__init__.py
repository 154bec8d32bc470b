"""The analyzer: from a released batch to a result, within a budget."""

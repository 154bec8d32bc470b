"""The shuffler: takes reports in, and lets a batch out in a secret order."""

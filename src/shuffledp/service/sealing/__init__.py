"""All cryptography on records: keys, sealing and opening."""

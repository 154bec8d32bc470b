"""What users hold: raw values in, clean values out, and nothing else turns one into the other."""

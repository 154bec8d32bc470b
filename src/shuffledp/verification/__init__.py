"""Whether the whole promise of a certificate, plan, task or result is true."""

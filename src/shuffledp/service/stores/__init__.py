"""Where a shuffler keeps reports and batches: one package or module per kind of store, chosen by URL."""

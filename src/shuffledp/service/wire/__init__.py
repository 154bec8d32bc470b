"""What the parties of a collection exchange, as bytes."""

"""What scripts/web-players consists of."""

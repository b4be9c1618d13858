"""scripts/leak-hunt: doc/leak-hunt.md."""

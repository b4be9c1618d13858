"""scripts/leak-hunt: doc/memory.md."""

"""scripts/cache-bench. The tests use recipes.py and caches.py as well."""

"""``utils``, as candidates know it."""

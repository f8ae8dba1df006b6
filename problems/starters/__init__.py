"""The parts that starters are put together from."""

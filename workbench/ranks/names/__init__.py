"""Packages that candidates may import inside the ranks, under the names that the benchmark's harness gives them."""

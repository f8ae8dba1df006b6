"""What a launch through a slim module costs beside the same through torch's own headers. Needs a GPU and nvcc.

python -m benchmarks.slim_calls
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.build.test_slim_gpu import built, probe


def main() -> None:
    """Build both ways, time in turns, print the table."""
    with tempfile.TemporaryDirectory() as folder:
        slim, real = built(Path(folder))
        rounds = [(float(probe(slim, "--time")), float(probe(real, "--time"))) for _ in range(3)]
    for name, values in zip(("slim headers", "torch's own"), zip(*rounds)):
        print(f"{name:13}  {min(values):7.0f} ns a launch with 4 tensors and 3 numbers")


if __name__ == "__main__":
    main()

"""Write all candidates into a folder, and print commands that judge each.

python -m tests.build.candidates FOLDER [RANKS] | sh
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.build.candidates import candidates, problems


def main() -> None:
    """Each candidate is judged once with its slim build and once with its full one, without timing."""
    folder, ranks = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "2"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in candidates().items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    for name, problem in problems().items():
        for more in ("", " --full-build"):
            judged = f"pkwb eval {problem} {folder / name}.py --ranks {ranks} --device cuda --no-perf{more}"
            print(f"echo '{name}{more}'; {judged}")


if __name__ == "__main__":
    main()

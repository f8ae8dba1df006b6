"""Published results of the benchmark that the problems are from, for comparison: counts out of its 87 problems."""

from __future__ import annotations

from dataclasses import dataclass

PROBLEMS = 87
SOURCE = (
    "ParallelKernelBench, project page of June 2026: single shot, counts of 87 problems, by its own protocol on H100s "
    "(8 by its data set's card, 4 in its examples), so that they do not compare with other hardware"
)


@dataclass(frozen=True)
class Published:
    """One model's counts: problems solved in the best of 1 and of 3 tries, and those faster than the reference."""

    model: str
    correct: tuple[int, int]
    faster: tuple[int, int]


PUBLISHED = (
    Published("GPT-5.5", (28, 36), (22, 27)),
    Published("Gemini 3 Pro", (24, 30), (12, 19)),
    Published("Claude Opus 4.7", (20, 31), (12, 20)),
    Published("GLM-5.1", (6, 7), (2, 3)),
    Published("DeepSeek V4 Pro", (2, 3), (0, 1)),
)
AGENTIC = "its agent run, Gemini 3 Pro alone: 35 correct (40.2%), 26 faster (29.9%), flat after about 20 steps"
TRIES = (1, 3)
"""The k of the counts."""

"""What a candidate moves data with, by its imports, calls and kernels, and by what ran. A label, never a verdict."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from workbench.errors import UsageError
from workbench.events import Profile, Ran
from workbench.judge.profiles import MOST_RAN
from workbench.llm.live import without_dead_branches
from workbench.strict import nearest

LABELS: Mapping[str, str] = {
    "library": "all data is moved by collectives or messages of a library",
    "hybrid": "both a library and code of its own move data",
    "custom": "data is moved by code of its own, through peers' memory",
}
"""Labels; a source that moves nothing that is known has none."""
MOVERS: Mapping[str, str] = {
    "collectives": "collectives of torch.distributed or NCCL",
    "messages": "send and receive of torch.distributed or NCCL",
    "symm-ops": "ready-made operations of torch.ops.symm_mem",
    "symm-mem": "peers' buffers through symmetric memory",
    "parallelkittens": "parallel tensors of ParallelKittens",
    "nvshmem": "NVSHMEM",
    "peer-copy": "copies between devices by CUDA calls",
    "shared-memory": "memory of other ranks' processes by CUDA IPC, shared memory or mapped files",
}
"""What can move data between ranks, by name."""
LANGUAGES: Mapping[str, str] = {"cuda": "CUDA kernels", "triton": "Triton kernels"}
"""Backends by what their kernels are written in."""
_LIBRARY = frozenset({"collectives", "messages", "symm-ops"})
_SEEN_TO_RUN = frozenset({"collectives", "messages"})
"""Movers that a profile tells by name."""
_COLLECTIVE = re.compile(r"(?:all_|reduce|broadcast|gather|scatter|permute_tensor)\w*")
_MESSAGE = re.compile(r"i?(?:send|recv)\w*|batch_isend_irecv|P2POp")
_BY_PREFIX: tuple[tuple[str, str], ...] = (
    ("torch.ops.symm_mem.", "symm-ops"),
    ("torch.ops._c10d_functional.", "collectives"),
    ("torch.distributed._symmetric_memory.", "symm-mem"),
    ("utils.symmetric.", "symm-mem"),
    ("utils.parallelkittens_runtime.", "parallelkittens"),
    ("nvshmem.", "nvshmem"),
    ("torch.cuda.nccl.", "collectives"),
    ("multiprocessing.shared_memory.", "shared-memory"),
    ("mmap.mmap", "shared-memory"),
)
_IN_TEXT: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bnccl(?:AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|AllToAll)\b"), "collectives"),
    (re.compile(r"\bnccl(?:Send|Recv)\b"), "messages"),
    (re.compile(r"\bnvshmemx?_\w+"), "nvshmem"),
    (re.compile(r"\bcudaMemcpyPeer(?:Async)?\b"), "peer-copy"),
    (
        re.compile(r"\b(?:cudaIpcOpenMemHandle|cuIpcOpenMemHandle|cuMemImportFromShareableHandle|shm_open)\b"),
        "shared-memory",
    ),
)
"""What tells a mover in C++ and CUDA text."""
_KERNEL = re.compile(r"\b__global__\b(?:[^;{}]*?\bvoid\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\()?")
"""A kernel in CUDA text, with its name where it is written out."""
_OF_NCCL = re.compile(r"nccl(?:Dev)?Kernel")
"""A kernel of NCCL, which extensions also launch without torch.distributed."""


@dataclass(frozen=True)
class Look:
    """What was seen in a source."""

    label: str
    """One of LABELS; empty where nothing is known to move data."""
    movers: tuple[str, ...]
    """Names of MOVERS, in their order."""
    kernels: int
    """Kernels that the source holds: Triton functions, and ``__global__`` in its texts."""
    names: tuple[str, ...] = ()
    """Their names, as far as they are written out."""
    languages: tuple[str, ...] = ()
    """Which of LANGUAGES they are written in."""
    doubt: str = ""
    """Where the source and what ran do not agree; empty where they do, and where nothing is known to have run."""

    def words(self) -> str:
        """``hybrid: collectives, symm-mem; 2 kernels``."""
        found = f"{self.label or 'no data movement found'}{': ' if self.movers else ''}{', '.join(self.movers)}"
        return f"{found}; {self.kernels} kernel{'s' if self.kernels != 1 else ''}"

    def breach(self, required: str) -> str:
        """What is not as ``--require`` asks, as a sentence; empty where all is well, or nothing is asked for."""
        return "; ".join(filter(None, (self._other(required), self.doubt))) if required else ""

    def _other(self, required: str) -> str:
        if required in LABELS:
            return "" if self.label == required else f"{required} was asked for, this looks {self.label or 'like none'}"
        named = set(_names(required))
        others = [mover for mover in self.movers if named & MOVERS.keys() and mover not in named]
        others += [LANGUAGES[name] for name in self.languages if named & LANGUAGES.keys() and name not in named]
        missing = [LANGUAGES[name] for name in LANGUAGES if name in named and name not in self.languages]
        found = [f"only {required} was asked for, this uses {', '.join(others)} too"] if others else []
        found += [f"{' and '.join(missing)} were asked for, this has none"] if missing else []
        return "; ".join(found)


NOTHING = Look("", (), 0)
"""What is seen in a text that cannot be parsed."""


def with_run(seen: Look, profile: Profile | None) -> Look:
    """What was seen, set right by what ran in a profiled call: collectives that did not run do not count, those that
    ran do, whatever the source looks like. Where that is a difference, ``doubt`` says so. Nothing is known to have run
    where there is no profile."""
    if profile is None or profile.note:
        return seen
    shown = _SEEN_TO_RUN & set(seen.movers)
    ran = _movers_that_ran(profile.ran, shown)
    movers = tuple(name for name in MOVERS if name in ran | (set(seen.movers) - shown))
    doubts = [f"{name} ran that the source does not show" for name in MOVERS if name in ran - shown]
    doubts += [f"{name} of the source did not run" for name in MOVERS if name in shown - ran]
    if _idle(seen.names, profile.ran):
        doubts.append("no kernel of the source ran on rank 0")
    return replace(seen, label=_label(set(movers)), movers=movers, doubt="; ".join(doubts))


def _movers_that_ran(ran: Iterable[Ran], shown: frozenset[str]) -> set[str]:
    """Collectives and messages that ran; NCCL's kernels alone are what an extension called, as far as that is shown."""
    called = [one for one in ran if one.kind == "collective"]
    if called or not any(one.kind == "kernel" and _OF_NCCL.match(one.name) for one in ran):
        return {"messages" if _MESSAGE.fullmatch(one.name) else "collectives" for one in called if _has_data(one)}
    return set(shown) or {"collectives"}


def _idle(names: tuple[str, ...], ran: tuple[Ran, ...]) -> bool:
    """Whether kernels ran and none is of these names; not known where more ran than a profile tells."""
    kernels = [one.name for one in ran if one.kind == "kernel"]
    return bool(names and kernels) and len(ran) < MOST_RAN and not any(name in one for one in kernels for name in names)


def _has_data(one: Ran) -> bool:
    return one.kind == "collective" and "barrier" not in one.name


def look(text: str) -> Look:
    """What the source moves data with, as far as ``solution`` and the module itself reach; nothing for broken text."""
    try:
        tree = without_dead_branches(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return NOTHING
    nodes = list(_reached(tree))
    seen = {mover for name in _mentioned(nodes, _aliases(tree)) if (mover := _mover(name))}
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    seen |= {mover for text in texts for pattern, mover in _IN_TEXT if pattern.search(text)}
    written = {
        "cuda": [name for text in texts for name in _KERNEL.findall(text)],
        "triton": [node.name for node in nodes if isinstance(node, ast.FunctionDef) and _is_triton(node)],
    }
    kernels = [name for names in written.values() for name in names]
    return Look(
        _label(seen),
        tuple(name for name in MOVERS if name in seen),
        len(kernels),
        tuple(dict.fromkeys(filter(None, kernels))),
        tuple(language for language, names in written.items() if names),
    )


def check_required(required: str) -> None:
    """UsageError where ``--require`` names neither a label nor movers and backends."""
    for name in _names(required):
        if name not in MOVERS and name not in LANGUAGES and required not in LABELS:
            known = [*LABELS, *MOVERS, *LANGUAGES]
            raise UsageError(f"--require {required}: {name!r} is not known{nearest(name, known)}; {_known()}")


def requirement_text(required: str) -> str:
    """What a model is told of ``--require``; empty where nothing is asked for."""
    check_required(required)
    if not required:
        return ""
    if required in LABELS:
        return f"Wanted is a version in which {LABELS[required]}."
    movers = "; ".join(f"{name}: {MOVERS[name]}" for name in _names(required) if name in MOVERS)
    written = " and ".join(LANGUAGES[name] for name in _names(required) if name in LANGUAGES)
    said = [f"Data must move between ranks by nothing but {movers}."] if movers else []
    said += [f"The work must be done by {written}, and by no others of your own."] if written else []
    return " ".join(said)


def _names(required: str) -> list[str]:
    return [name.strip() for name in required.split(",") if name.strip()]


def _known() -> str:
    return f"one of {', '.join(LABELS)}, or one or more of {', '.join([*MOVERS, *LANGUAGES])} with commas between"


def _label(movers: set[str]) -> str:
    library, own = movers & _LIBRARY, movers - _LIBRARY
    return "hybrid" if library and own else "library" if library else "custom" if own else ""


def _reached(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes of the module's own statements, of ``solution``, and of definitions whose names these mention."""
    definitions = {
        node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
    }
    waiting: list[ast.AST] = [node for node in tree.body if getattr(node, "name", None) not in definitions]
    named = {"solution"}
    while waiting or named:
        waiting += [definitions.pop(name) for name in sorted(named) if name in definitions]
        named = set()
        for root in waiting:
            for node in ast.walk(root):
                yield node
                if isinstance(node, ast.Name):
                    named.add(node.id)
        waiting = []
        named &= definitions.keys()


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Dotted names by the names that the source has for them."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {
                name.asname or name.name.partition(".")[0]: name.name if name.asname else name.name.partition(".")[0]
                for name in node.names
            }
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    return found


def _mentioned(nodes: list[ast.AST], aliases: dict[str, str]) -> Iterator[str]:
    """Dotted names of what is called or handed on, with the source's own names for modules resolved."""
    for node in nodes:
        if isinstance(node, (ast.Attribute, ast.Name, ast.Call)) and (name := _dotted(node)):
            head, _, rest = name.partition(".")
            yield f"{aliases.get(head, head)}{'.' if rest else ''}{rest}"


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    if isinstance(node, ast.Call):
        return _dotted_getattr(node)
    return node.id if isinstance(node, ast.Name) else ""


def _dotted_getattr(node: ast.Call) -> str:
    """``dist.all_reduce`` of ``getattr(dist, "all_reduce")``."""
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(name)), *_]):
            before = _dotted(value)
            return f"{before}.{name}" if before else ""
    return ""


def _mover(name: str) -> str:
    for prefix, mover in _BY_PREFIX:
        if name.startswith(prefix):
            return mover
    last = name.rpartition(".")[2]
    if not name.startswith("torch.distributed."):
        return ""
    return "collectives" if _COLLECTIVE.fullmatch(last) else "messages" if _MESSAGE.fullmatch(last) else ""


def _is_triton(node: ast.FunctionDef) -> bool:
    """Whether Triton compiles the function."""
    names = (_dotted(item.func if isinstance(item, ast.Call) else item) for item in node.decorator_list)
    return any(name in ("triton.jit", "jit") for name in names)

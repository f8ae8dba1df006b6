"""What a candidate moves data with, by its imports, calls and kernels, and by what ran. A label, never a verdict."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.events import Profile, Ran
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
}
"""What can move data between ranks, by name."""
_LIBRARY = frozenset({"collectives", "messages", "symm-ops"})
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
)
_IN_TEXT: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bnccl(?:AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|AllToAll)\b"), "collectives"),
    (re.compile(r"\bnccl(?:Send|Recv)\b"), "messages"),
    (re.compile(r"\bnvshmemx?_\w+"), "nvshmem"),
    (re.compile(r"\bcudaMemcpyPeer(?:Async)?\b"), "peer-copy"),
)
"""What tells a mover in C++ and CUDA text."""
_KERNEL = re.compile(r"\b__global__\b")


@dataclass(frozen=True)
class Look:
    """What was seen in a source."""

    label: str
    """One of LABELS; empty where nothing is known to move data."""
    movers: tuple[str, ...]
    """Names of MOVERS, in their order."""
    kernels: int
    """Kernels that the source holds: Triton functions, and ``__global__`` in its texts."""

    def words(self) -> str:
        """``hybrid: collectives, symm-mem; 2 kernels``."""
        found = f"{self.label or 'no data movement found'}{': ' if self.movers else ''}{', '.join(self.movers)}"
        return f"{found}; {self.kernels} kernel{'s' if self.kernels != 1 else ''}"

    def breach(self, required: str) -> str:
        """What is not as ``--require`` asks, as a sentence; empty where all is well, or nothing is asked for."""
        if not required:
            return ""
        if required in LABELS:
            return "" if self.label == required else f"{required} was asked for, this looks {self.label or 'like none'}"
        others = [mover for mover in self.movers if mover not in _names(required)]
        return f"only {required} were asked for, this uses {', '.join(others)} too" if others else ""


def with_run(seen: Look, profile: Profile | None) -> Look:
    """What was seen, set right by what ran in a profiled call: collectives that did not run do not count, those that
    ran do, whatever the source looks like. Nothing is known to have run where there is no profile."""
    if profile is None or profile.note:
        return seen
    ran = {"messages" if _MESSAGE.fullmatch(one.name) else "collectives" for one in profile.ran if _has_data(one)}
    kept = {mover for mover in seen.movers if mover not in ("collectives", "messages")}
    movers = tuple(name for name in MOVERS if name in ran | kept)
    return Look(_label(set(movers)), movers, seen.kernels)


def _has_data(one: Ran) -> bool:
    return one.kind == "collective" and "barrier" not in one.name


def look(text: str) -> Look:
    """What the source moves data with, as far as ``solution`` and the module itself reach; nothing for broken text."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return Look("", (), 0)
    nodes = list(_reached(tree))
    seen = {mover for name in _called(nodes, _aliases(tree)) if (mover := _mover(name))}
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    seen |= {mover for text in texts for pattern, mover in _IN_TEXT if pattern.search(text)}
    kernels = sum(_is_triton(node) for node in nodes) + sum(len(_KERNEL.findall(text)) for text in texts)
    movers = tuple(name for name in MOVERS if name in seen)
    return Look(_label(seen), movers, kernels)


def check_required(required: str) -> None:
    """UsageError where ``--require`` names neither a label nor movers."""
    for name in _names(required):
        if name not in MOVERS and required not in LABELS:
            known = [*LABELS, *MOVERS]
            raise UsageError(f"--require {required}: {name!r} is not known{nearest(name, known)}; {_known()}")


def requirement_text(required: str) -> str:
    """What a model is told of ``--require``; empty where nothing is asked for."""
    check_required(required)
    if not required:
        return ""
    if required in LABELS:
        return f"Wanted is a version in which {LABELS[required]}."
    named = "; ".join(f"{name}: {MOVERS[name]}" for name in _names(required))
    return f"Data must move between ranks by nothing but {named}."


def _names(required: str) -> list[str]:
    return [name.strip() for name in required.split(",") if name.strip()]


def _known() -> str:
    return f"one of {', '.join(LABELS)}, or one or more of {', '.join(MOVERS)} with commas between"


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


def _called(nodes: list[ast.AST], aliases: dict[str, str]) -> Iterator[str]:
    """Dotted names of what is called, with the source's own names for modules resolved."""
    for node in nodes:
        if isinstance(node, ast.Call) and (name := _dotted(node.func)):
            head, _, rest = name.partition(".")
            yield f"{aliases.get(head, head)}{'.' if rest else ''}{rest}"


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def _mover(name: str) -> str:
    for prefix, mover in _BY_PREFIX:
        if name.startswith(prefix):
            return mover
    last = name.rpartition(".")[2]
    if not name.startswith("torch.distributed."):
        return ""
    return "collectives" if _COLLECTIVE.fullmatch(last) else "messages" if _MESSAGE.fullmatch(last) else ""


def _is_triton(node: ast.AST) -> bool:
    """Whether a node is a function that Triton compiles."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    names = (_dotted(item.func if isinstance(item, ast.Call) else item) for item in decorators)
    return any(name in ("triton.jit", "jit") for name in names)

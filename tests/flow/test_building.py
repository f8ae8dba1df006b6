"""Candidates with extensions, from a save to the verdict on real ranks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build.fakes import compiler
from tests.flow.sitting import PATH, Sitting
from tests.program import pkwb
from workbench.events import (
    BuildFinished,
    BuildStarted,
    Diagnostic,
    FirstVerdict,
    Log,
    PhaseChanged,
    RankStack,
    Verdict,
)

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")

INLINE = '''\
import torch
import torch.distributed as dist
from torch.utils.cpp_extension import load_inline

SRC = r"""
#include <torch/extension.h>
void keep(torch::Tensor t) {
  float* p = t.data_ptr<float>();
  for (int64_t i = 0; i < t.numel(); ++i) p[i] *= 1.0f;
}
"""
_module = None


def solution(tensor):
    global _module
    if _module is None:
        _module = load_inline(NAME, SRC, functions=["keep"])
    out = tensor.clone()
    dist.all_reduce(out)
    _module.keep(out)
    return out
'''
CPP = INLINE.replace("NAME", '"keeping"')
DYNAMIC = INLINE.replace("NAME", '"keeping_" + str(len(SRC))')
CUDA = '''\
import torch
import torch.distributed as dist
from utils.cuda_helpers import compile_cuda_extension

SRC = r"""
#include <torch/extension.h>
__global__ void twice(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2.0f;
}
void launch(torch::Tensor x) { twice<<<1, 256>>>(x.data_ptr<float>(), static_cast<int>(x.numel())); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("launch", &launch); }
"""
FALLBACK = False


def solution(tensor):
    out = tensor.clone()
    dist.all_reduce(out)
    if not FALLBACK:
        compile_cuda_extension("twice", SRC).launch(out)
    return out
'''


@pytest.fixture(scope="module")
def sitting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sitting]:
    """One sitting on two CPU ranks, and one cache for all tests of this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PKWB_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        found = Sitting("1", limit=20.0)
        found.judge("def solution(tensor):\n    return None\n")
        yield found
        found.close()


def errors(sitting: Sitting, verdict: Verdict) -> list[tuple[int, int, str]]:
    """The errors shown in an attempt: line, column, text."""
    found = sitting.of(Diagnostic, verdict.attempt)
    return [(item.line, item.column, item.message) for item in found if item.severity == "error"]


def test_cpp_extension_is_built_before_the_ranks_load(sitting: Sitting) -> None:
    """A C++ candidate is built from a look at its source, in its own phase; the verdict says which build it was."""
    verdict = sitting.judge(CPP)
    assert verdict.status == "ok", verdict.reason
    assert [(build.name, build.path, build.made_by) for build in verdict.builds] == [("keeping", "slim", "slim")]
    assert list(verdict.phases_ms) == ["build", "start", "load", "check"]
    assert len(sitting.of(BuildStarted, verdict.attempt)) == len(sitting.of(BuildFinished, verdict.attempt)) == 1


def test_printf_is_shown(sitting: Sitting) -> None:
    """What C++ code prints by printf is shown line by line, also where the rank then crashes."""
    says = 'void keep(torch::Tensor t) { printf("so far %d\\n", 1); *(volatile int*)nullptr = 1; }\n"""'
    verdict = sitting.judge(
        CPP[: CPP.index("void keep")] + "#include <cstdio>\n" + says + CPP[CPP.index('"""\n_module') + 3 :]
    )
    assert verdict.status == "crash"
    assert "so far 1" in "".join(item.text for item in sitting.of(Log, verdict.attempt))


def test_second_save_comes_from_the_cache(sitting: Sitting) -> None:
    """The same extension in another version of the file is not built again."""
    sitting.judge(CPP)
    verdict = sitting.judge(CPP + "# another version\n")
    assert [(build.path, build.made_by) for build in verdict.builds] == [("cached", "slim")]


def test_text_that_is_known_late(sitting: Sitting) -> None:
    """An extension whose name is only known when the file runs is built once when the ranks ask for it."""
    verdict = sitting.judge(DYNAMIC)
    assert verdict.status == "ok", verdict.reason
    assert [build.path for build in verdict.builds] == ["slim"]
    assert "build" not in verdict.phases_ms
    notes = [item for item in sitting.of(Diagnostic, verdict.attempt) if item.severity == "note"]
    assert [(note.line, "when the file runs" in note.message) for note in notes] == [(18, True)]


def test_two_extensions_of_one_name(sitting: Sitting) -> None:
    """Two different modules under one name stay two."""
    body = "\n    assert (A.f(), B.f()) == (1, 2)\n    out = tensor.clone()\n    dist.all_reduce(out)\n    return out\n"
    one = 'load_inline("same", "int f() { return %d; }", functions=["f"])\n'
    head = INLINE.partition("SRC =")[0]
    verdict = sitting.judge(f"{head}A = {one % 1}B = {one % 2}\ndef solution(tensor):{body}")
    assert verdict.status == "ok", verdict.reason
    assert len(verdict.builds) == 2


def test_hostile_flag(sitting: Sitting) -> None:
    """A flag that would run a program in the compiler is a build error at the call; no rank runs."""
    verdict = sitting.judge(
        CPP.replace('functions=["keep"]', 'functions=["keep"], extra_ldflags=["-fplugin=/tmp/x.so"]')
    )
    assert verdict.status == "build-error"
    assert "'-fplugin=/tmp/x.so' is not allowed in extra_ldflags" in verdict.reason
    assert [line for line, _, _ in errors(sitting, verdict)] == [18]
    assert [event.status for event in sitting.of(FirstVerdict, verdict.attempt)] == ["build-error"]
    assert not [event for event in sitting.of(PhaseChanged, verdict.attempt) if event.phase == "load"]


def test_hostile_flag_from_a_rank(sitting: Sitting) -> None:
    """The same when the flag is only known in the rank."""
    verdict = sitting.judge(
        DYNAMIC.replace('functions=["keep"]', 'functions=["keep"], extra_ldflags=["-fplugin=/tmp/x" + str(1)]')
    )
    assert (verdict.status, "is not allowed in extra_ldflags" in verdict.reason) == ("build-error", True)


LACKS = CPP.replace("void keep", "extern int gone(int value);\nvoid keep").replace("*= 1.0f", "*= gone(1)")
LACKED = (7, 0, "undefined symbol gone(int): no source and no library defines it")


def test_function_that_nothing_defines(sitting: Sitting) -> None:
    """A function that is declared, called and nowhere defined is a build error at its declaration; no rank runs."""
    verdict = sitting.judge(LACKS)
    assert (verdict.status, verdict.reason.partition(";")[0]) == ("build-error", f"line 7: {LACKED[2]}")
    assert [(line, column, text.partition(";")[0]) for line, column, text in errors(sitting, verdict)] == [LACKED]
    assert not [event for event in sitting.of(PhaseChanged, verdict.attempt) if event.phase == "load"]


def test_function_that_nothing_defines_from_a_rank(sitting: Sitting) -> None:
    """The same where the extension is only known in the rank, or a library that the file loads might have it."""
    late = LACKS.replace('load_inline("keeping"', 'load_inline("".join(["keep", "ing"])')
    for text in (late, f"{LACKS}\nimport ctypes\n"):
        verdict = sitting.judge(text)
        assert verdict.status == "build-error", verdict.reason
        assert verdict.reason.partition(";")[0].endswith(LACKED[2])


def test_function_that_the_file_loads(sitting: Sitting, tmp_path: Path) -> None:
    """A function of a library that the file loads for all is found, though the build knows nothing of it."""
    source, library = tmp_path / "gone.cpp", tmp_path / "libgone.so"
    source.write_text("int gone(int value) { return value; }")
    subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    verdict = sitting.judge(f"import ctypes\nctypes.CDLL({str(library)!r}, mode=ctypes.RTLD_GLOBAL)\n{LACKS}")
    assert verdict.status == "ok", verdict.reason
    told = [item for item in sitting.of(Diagnostic, verdict.attempt) if item.message.startswith(LACKED[2])]
    assert {item.severity for item in told} == {"warning"}


FORGED = """
import json, os, socket, struct

def ask(body):
    end = socket.socket(socket.AF_UNIX)
    end.settimeout(5)
    end.connect(os.environ["TMPDIR"] + "/build")
    end.sendall(body)
    return end.recv(1 << 16)

def frame(message):
    data = json.dumps(message).encode()
    return struct.pack("!I", len(data)) + data

GOOD = {"name": "k", "cuda": "", "cpp": "int f();", "cuda_flags": [], "cpp_flags": [], "ld_flags": [], "includes": []}
for body in (
    frame({}), frame({**GOOD, "cpp": 3}), frame({**GOOD, "name": "../../x"}), frame({**GOOD, "cpp_flags": "-O3"}),
    frame({**GOOD, "ld_flags": ["@/etc/passwd"]}), struct.pack("!I", 1 << 31), struct.pack("!I", 3) + b"{{{",
):
    assert b'"library":""' in ask(body), body

def solution(tensor):
    import torch.distributed as dist
    out = tensor.clone()
    dist.all_reduce(out)
    return out
"""


def test_forged_requests(sitting: Sitting) -> None:
    """Whatever a candidate writes into the socket of the build service, it gets no library and breaks nothing."""
    verdict = sitting.judge(FORGED)
    assert verdict.status in ("ok", "build-error"), verdict.reason
    assert sitting.judge(CPP).status == "ok"


def test_thousands_of_requests(sitting: Sitting) -> None:
    """A candidate that asks for more extensions than any needs, all at once, is answered and stops nobody."""
    asked = (
        FORGED.partition("for body in")[0]
        + """
ends = []
for n in range(3000):
    end = socket.socket(socket.AF_UNIX)
    end.connect(os.environ["TMPDIR"] + "/build")
    end.sendall(frame({**GOOD, "name": "../" + str(n)}))
    ends.append(end)
    if len(ends) == 100:
        answers = [end.recv(1 << 16) for end in ends]
        assert not any(answer and b'"library":""' not in answer for answer in answers), answers
        ends.clear()
assert b"more than 64 different" in ask(frame({**GOOD, "name": "../last"}))
"""
        + FORGED.partition("    assert b")[2].partition("\n\n")[2]
    )
    verdict = sitting.judge(asked)
    assert verdict.status in ("ok", "build-error"), verdict.reason
    assert sitting.judge(CPP).status == "ok"


def test_no_room_on_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A build that fails for the machine's fault is not the kernel's: the verdict is infra, ahead or in a rank."""
    (tmp_path / "builds").write_text("a file")
    monkeypatch.setenv("PKWB_CACHE_DIR", str(tmp_path))
    other = Sitting("1", limit=20.0)
    for source in (CPP, DYNAMIC):
        verdict = other.judge(source.replace("*= 1.0f", "*= 1.00f"))
        assert (verdict.status, "check the disk" in verdict.reason) == ("infra", True), verdict.reason
    other.close()


@needs_nvcc
def test_cuda_candidate_without_a_gpu(sitting: Sitting) -> None:
    """On CPU ranks CUDA code is compiled, kernels' figures are shown at their lines, and the verdict is unknown."""
    verdict = sitting.judge(CUDA)
    assert (verdict.status, verdict.reason.partition(":")[0]) == ("unknown", "no CUDA device")
    assert "compiles (twice: quick build)" in verdict.reason
    notes = [item for item in sitting.of(Diagnostic, verdict.attempt) if item.message.startswith("kernel twice")]
    assert [(note.severity, note.line, note.path) for note in notes] == [("note", 7, str(PATH))]


@needs_nvcc
def test_cuda_candidate_that_needs_no_gpu(sitting: Sitting) -> None:
    """A CUDA candidate whose plain version runs on CPU ranks is judged there."""
    assert sitting.judge(CUDA.replace("FALLBACK = False", "FALLBACK = True")).status == "ok"


def compilers(folder: Path) -> str:
    """A PATH on which compilers of our own stand first."""
    for name in ("nvcc", "g++"):
        compiler(folder, name)
    return f"{folder}:{os.environ['PATH']}"


def test_nvcc_that_does_not_work(tmp_path: Path) -> None:
    """Where no CUDA can be compiled the plain version of a candidate runs, and its kernel's verdict is unknown."""
    path = compilers(tmp_path / "bin")
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.write_text("#!/bin/sh\nexit 1\n")
    plain = CUDA.replace("FALLBACK = False", "FALLBACK = True")
    for text, code, words in ((CUDA, 3, "no CUDA device: the CUDA code was not compiled"), (plain, 0, "ok")):
        (tmp_path / "k.py").write_text(text)
        command = ("eval", "1", "k.py", "--size", "smoke", "--dtype", "float32", "--no-perf", "--device", "cpu")
        done = pkwb(*command, cwd=tmp_path, PATH=path)
        assert (done.returncode, words in done.stdout) == (code, True), done.stdout + done.stderr
        assert f"{nvcc} does not answer: check the CUDA toolkit" in done.stderr
    done = pkwb("build", "k.py", cwd=tmp_path, PATH=path)
    assert (done.returncode, "does not answer" in done.stdout) == (3, True), done.stderr


@needs_nvcc
def test_build_command(tmp_path: Path) -> None:
    """`pkwb build` compiles without ranks and says which build it was; `pkwb cache` shows and clears what is kept."""
    (tmp_path / "k.py").write_text(CUDA)
    done = pkwb("build", "k.py", cwd=tmp_path)
    assert (done.returncode, done.stdout.startswith("twice: quick build, ")) == (0, True), done.stderr
    assert "k.py:7: note: kernel twice: " in done.stderr
    assert "twice" in pkwb("cache", cwd=tmp_path).stdout
    assert pkwb("cache", "clear", cwd=tmp_path).stdout.startswith("removed ")
    assert json.loads(pkwb("cache", "--json", cwd=tmp_path).stdout)["entries"] == []


def test_cache_command_knows_raw_kernels(tmp_path: Path) -> None:
    """`pkwb cache` shows and clears the kernels that ranks compiled with NVRTC, too, and says what it cannot remove."""
    folder = tmp_path / "cache" / "kernels"
    folder.mkdir(parents=True)
    (folder / ("a" * 64)).write_bytes(b'{"entry": "scale\\u001b[31m"}\n' + bytes(1000))
    (folder / ("b" * 64)).write_bytes(b"damaged")
    (folder / ".half").write_bytes(b"half")
    os.utime(folder / ".half", (1, 1))
    (folder / "mine.txt").write_text("not a kernel")
    place = {"PKWB_CACHE_DIR": str(tmp_path / "cache")}
    shown = pkwb("cache", cwd=tmp_path, **place).stdout
    assert "scale" in shown
    assert "(damaged)" in shown
    assert "\x1b" not in shown
    entries = json.loads(pkwb("cache", "--json", cwd=tmp_path, **place).stdout)["entries"]
    assert {entry["made_by"] for entry in entries} == {"NVRTC"}
    assert pkwb("cache", "clear", cwd=tmp_path, **place).stdout.startswith("removed 2 files")
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_build_command_for_a_backend(tmp_path: Path) -> None:
    """`pkwb build --backend` fails where the file does not build such text ahead, and says so."""
    path = compilers(tmp_path / "bin")
    (tmp_path / "k.py").write_text(CUDA)
    assert pkwb("build", "k.py", "--full-build", "--backend", "cuda", cwd=tmp_path, PATH=path).returncode == 0
    done = pkwb("build", "k.py", "--full-build", "--backend", "cpp", cwd=tmp_path, PATH=path)
    assert (done.returncode, "no C++ text of this file is known" in done.stderr) == (1, True)


def test_compiler_that_writes_to_the_terminal(tmp_path: Path) -> None:
    """Escape sequences in a compiler's message do not reach the terminal."""
    path = compilers(tmp_path / "bin")
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.write_text(nvcc.read_text().replace("identifier", "\033[31m\033]0;mine\007identifier"))
    (tmp_path / "k.py").write_text(CUDA.replace("#include", "#error BROKEN\n#include"))
    done = pkwb("build", "k.py", "--full-build", cwd=tmp_path, PATH=path)
    assert (done.returncode, "\x1b" in done.stdout + done.stderr, "identifier" in done.stdout) == (1, False, True)


def test_build_command_tells_errors(tmp_path: Path) -> None:
    """An error of `pkwb build` is at the user's own line, in the events and in the exit code."""
    path = compilers(tmp_path / "bin")
    (tmp_path / "k.py").write_text(CUDA.replace("#include", "#error BROKEN\n#include"))
    done = pkwb("build", "k.py", "--json", cwd=tmp_path, PATH=path)
    assert done.returncode == 1
    events = [json.loads(line) for line in done.stdout.splitlines()]
    error = next(event for event in events if event.get("severity") == "error")
    assert (error["line"], error["message"]) == (5, 'identifier "BROKEN" is undefined')
    assert (events[-1]["event"], events[-1]["ok"]) == ("build", False)


@needs_nvcc
def test_unsupported_architecture(tmp_path: Path) -> None:
    """An architecture that nvcc does not know is an error at the call; one that is none is refused at once."""
    (tmp_path / "k.py").write_text(CUDA.replace('"twice", SRC', '"twice", SRC, ["-arch=sm_20"]'))
    done = pkwb("build", "k.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "k.py:21: error: nvcc: Unsupported gpu architecture 'sm_20'" in done.stderr
    done = pkwb("build", "k.py", "--arch", "new", cwd=tmp_path)
    assert (done.returncode, "give a compute capability such as 90" in done.stderr) == (2, True)


def test_build_command_without_anything_to_build(tmp_path: Path) -> None:
    """A file that builds nothing is fine, and is not run; one that is no Python is an error at its line."""
    (tmp_path / "plain.py").write_text("print('noise')\n\n\ndef solution(x):\n    return x\n")
    (tmp_path / "broken.py").write_text("def solution(x:\n")
    assert pkwb("build", "plain.py", cwd=tmp_path).stdout == "nothing in this file is built ahead of a run\n"
    done = pkwb("build", "broken.py", cwd=tmp_path)
    assert (done.returncode, "broken.py:1:13: error: SyntaxError" in done.stderr) == (1, True)
    (tmp_path / "deep.py").write_text(f"x = {'-' * 20_000}1\n")
    done = pkwb("build", "deep.py", cwd=tmp_path)
    assert (done.returncode, "deep.py: error: Python cannot read this file" in done.stderr) == (1, True)


def test_full_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the full build asked for, torch's own headers make a module that behaves the same."""
    monkeypatch.setattr(Sitting, "patience", 110.0)
    sitting = Sitting("1", limit=20.0, full=True)
    try:
        verdict = sitting.judge(CPP)
        assert verdict.status == "ok", verdict.reason
        assert [(build.path, build.made_by) for build in verdict.builds] == [("full", "full")]
    finally:
        sitting.close()


def test_ranks_may_wait_for_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that wait for a build which takes longer than their own limit are no hang, and show no stacks."""
    slow = tmp_path / "g++"
    slow.write_text(f'#!/bin/sh\ncase "$*" in *"-c main.cpp"*) sleep 4;; esac\nexec {shutil.which("g++")} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    sitting = Sitting("1", limit=3.0)
    try:
        verdict = sitting.judge(DYNAMIC)
        assert verdict.status == "ok", verdict.reason
        assert not sitting.of(RankStack, verdict.attempt)
    finally:
        sitting.close()


@needs_nvcc
def test_code_of_the_kernels(tmp_path: Path) -> None:
    """`pkwb build --show ptx` prints the kernels' code and nothing else; what is missing is said."""
    (tmp_path / "k.py").write_text(CUDA)
    (tmp_path / "plain.py").write_text("x = 1\n")
    done = pkwb("build", "k.py", "--show", "ptx", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("// twice\n")
    assert ".visible .entry _Z5twicePfi(" in done.stdout
    done = pkwb("build", "plain.py", "--show", "ptx", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "builds no CUDA text that is known before it runs" in done.stderr
    disassembler = shutil.which("nvdisasm") or shutil.which("cuobjdump")
    done = pkwb("build", "k.py", "--show", "sass", cwd=tmp_path)
    assert ("twice" in done.stdout) if disassembler else ("neither nvdisasm nor cuobjdump" in done.stderr)

"""Full builds leave out what of torch's headers a text has no use for, and come to the same as with all of them."""

from __future__ import annotations

import asyncio
import ctypes
import dataclasses
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.build.candidates import cuda_texts
from tests.build.cubin import kernels
from tests.build.joined import joined
from tests.build.slim_builds import STUBS, CompileError, arch, needs_cxx, needs_nvcc, run, tools, write_units
from workbench.build.cache import Cache
from workbench.build.full import full_commands
from workbench.build.jobs import Slots
from workbench.build.making import Maker, Order
from workbench.build.model import Request, Result
from workbench.build.precompiled import PrecompiledHeaders
from workbench.build.racing import first_good
from workbench.build.torch_headers import REPLACED, Without, left_out, with_fewer, write

_PLAIN = "#include <torch/extension.h>\nint f(torch::Tensor t) { return t.numel() + std::max(1, 2); }\n"


@pytest.mark.parametrize(
    ("text", "without"),
    [
        (_PLAIN, "operators"),
        ("__device__ float top(float a) { return max(a, exp(a)); }", "operators"),
        ("auto f() { return torch::empty({1}); }", "modules"),
        ("auto f(at::Tensor t) { return at :: relu(t); }", "modules"),
        ("at::Tensor relu(at::Tensor t);\nauto f(at::Tensor t) { return relu(t); }", "modules"),
        ("static inline std::vector<at::Tensor>& stack(int n);", "modules"),
        ("at::Tensor /* clamped */ relu(at::Tensor t);", "modules"),
        ("at::Tensor // clamped\nrelu(at::Tensor t);", "modules"),
        ("at::Tensor __attribute__((noinline)) relu(at::Tensor t);", "modules"),
        ("at::Tensor (relu)(at::Tensor t);", "modules"),
        ("#define UNARY(name) at::Tensor name(at::Tensor t)\nUNARY(relu);", "modules"),
        ("#define UNARY(name, more) \\\n  at::Tensor name(more)\nUNARY(relu, f(g(1)));", "modules"),
        ("#define NAME relu\nat::Tensor NAME(at::Tensor t);", "modules"),
        ("#define NAME(x) re##x\nat::Tensor NAME(lu)(at::Tensor t);", "modules"),
        ("at::Tensor operator+(at::Tensor a, at::Tensor b);", "modules"),
        ("char c = '\"'; at::Tensor relu(at::Tensor t); char d = '\"';", "modules"),
        ('auto text = R"(")"; at::Tensor relu(at::Tensor t);', "modules"),
        ("struct Less { bool operator()(int a, int b) { return max(a, b) == b; } };", "operators"),
        ("#define CHECK(x) TORCH_CHECK(x)\nvoid f(at::Tensor a) { CHECK(a.sum() > 0); }", "operators"),
        (
            "int f(at::Tensor t) { auto size = t.size(0), index = -max(1, 2); return index < size ? exp(1) : 0; }",
            "operators",
        ),
        ('// relu(t) is torch\'s\nvoid f() { printf("at::relu(%d)", 1); }', "operators"),
        ("/* at::relu(", "operators"),
        ("struct F : torch::autograd::Function<F> {};", "modules"),
        ("TORCH_LIBRARY(mine, m) {}", "modules"),
        ("#include <ATen/Functions.h>\n", "modules"),
        ("torch::nn::Linear layer(1, 2);", None),
        ("void f(at::Tensor t) { torch :: save(t, name); }", None),
        ("#include <torch/optim.h>\n", None),
        ("using namespace torch;", None),
        ("using  namespace ::at;", None),
        ("namespace torch { struct OrderedDict {}; }", None),
        ("namespace t = torch;", None),
        ('#include "/home/me/mine.h"\n', None),
    ],
)
def test_texts_say_what_they_need(text: str, without: Without | None) -> None:
    """A text that names torch's operators gets them, one that names its modules, or takes in all names, gets all."""
    needs_cxx()
    assert left_out(Request(name="k", cuda=text), tools()) == without
    assert left_out(Request(name="k", cpp=text), tools()) == without


@pytest.mark.parametrize("way", ["includes", "cuda_flags", "cpp_flags"])
def test_folders_of_the_users_own_need_all(way: str, tmp_path: Path) -> None:
    """What headers of the user's need cannot be told from the text."""
    needs_cxx()
    value = str(tmp_path) if way == "includes" else f"-I{tmp_path}"
    assert left_out(dataclasses.replace(Request(name="k", cuda=_PLAIN), **{way: (value,)}), tools()) is None  # type: ignore[arg-type]


def test_replaced_headers_are_torchs(tmp_path: Path) -> None:
    """Every header that is replaced, or put in place of one, is one of this torch's; what it lacks is not there."""
    needs_cxx()
    for without, headers in REPLACED.items():
        write(without, tools(), tmp_path)
        for header in {*headers, *(one for instead in headers.values() for one in instead)}:
            assert any((Path(folder) / header).is_file() for folder in tools().torch_includes), header
        written = {str(path.relative_to(tmp_path / "fewer" / without)) for path in tmp_path.rglob(f"{without}/**/*.h")}
        assert written == set(headers)
    write("modules", dataclasses.replace(tools(), torch_includes=(str(tmp_path / "empty"),)), tmp_path / "older")
    assert list((tmp_path / "older").rglob("*.h")) == []


_TORCH = {
    "torch/extension.h": "#pragma once\n#include <torch/all.h>\n#include <torch/python.h>\n",
    "torch/all.h": "#pragma once\n#include <torch/types.h>\n#include <torch/nn.h>\n",
    "torch/types.h": (
        "#pragma once\n#include <ATen/Functions.h>\nnamespace at {}\nnamespace torch { using namespace at; }\n"
    ),
    "torch/python.h": "#pragma once\n#include <torch/types.h>\n#define PYTHON 1\n",
    "torch/nn.h": "#pragma once\n#define NETWORK 7\n",
    "ATen/Functions.h": "#pragma once\nnamespace at { inline int relu(int a) { return a + 40; } }\n",
    "ATen/ops/relu.h": "",
}
"""A small torch, of the shape of the real one."""


class Desk:
    """A maker with the small torch, and a C++ compiler whose calls are noted."""

    def __init__(self, folder: Path, slots: int = 2) -> None:
        needs_cxx()
        if sys.platform != "linux":
            pytest.skip("needs GNU's g++ and ld")
        for name, text in _TORCH.items():
            file = folder / "include" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for library in ("c10", "torch_cpu", "torch", "torch_python"):
            (folder / f"lib{library}.so").write_text("INPUT(-lm)\n")  # a script of the linker's
        self._calls = folder / "calls"
        (folder / "cxx").write_text(f'#!/bin/sh\necho "$*" >> "{self._calls}"\nexec {tools().cxx} "$@"\n')
        (folder / "cxx").chmod(0o755)
        found = {"cxx": str(folder / "cxx"), "torch_lib": str(folder), "torch_includes": (str(folder / "include"),)}
        self.cache = Cache(folder / "cache", 10**8)
        self.maker = Maker(dataclasses.replace(tools(), **found), self.cache, Slots(slots))  # type: ignore[arg-type]

    async def build(self, text: str, **more: float) -> Result:
        """A full build of C++ text."""
        return await self.maker.full(Order(request=Request(name="k", cpp=text), arch="90", full=True, **more))  # type: ignore[arg-type]

    async def answer(self, value: str) -> int:
        """What a library says whose text gives this value."""
        result = await self.build(f'#include <torch/extension.h>\nextern "C" int answer() {{ return {value}; }}\n')
        assert result.ok, result.reason
        return int(ctypes.CDLL(result.library).answer())

    @property
    def compiled(self) -> list[str]:
        """What was left out in each compilation, in order."""
        calls = self._calls.read_text().splitlines() if self._calls.exists() else []
        found = (re.search(r"-isystem fewer/(\w+)", call) for call in calls if " -c " in call)
        return [match[1] if match else "" for match in found]


@pytest.mark.parametrize(
    ("value", "answer", "compiled"),
    [
        ("3", 3, ["operators"]),
        ("torch::relu(2)", 42, ["modules"]),
        ("NETWORK", 7, ["operators", ""]),
    ],
)
async def test_what_lacks_a_header_is_built_with_all(
    value: str, answer: int, compiled: list[str], tmp_path: Path
) -> None:
    """One compilation is enough for a text that says what it needs; another is built again with all headers."""
    desk = Desk(tmp_path)
    assert (await desk.answer(value), desk.compiled) == (answer, compiled)


async def test_errors_are_those_with_all_headers(tmp_path: Path) -> None:
    """An error of the text is told as the build with all of torch's headers tells it, at its line."""
    desk = Desk(tmp_path)
    result = await desk.build("#include <torch/extension.h>\nint a = NETWORK;\nint b = nothing;\n")
    assert (result.ok, result.final, desk.compiled) == (False, True, ["operators", ""])
    assert [(one.line, one.severity) for one in result.findings] == [(3, "error")]


async def test_with_room_both_start_at_once(tmp_path: Path) -> None:
    """On a machine with many cores the build with all headers does not wait, and is ended when it is not needed."""
    desk = Desk(tmp_path, slots=8)
    assert await desk.answer("NETWORK") == 7
    assert sorted(desk.compiled) == ["", "operators"]
    assert await desk.answer("5") == 5
    assert list(desk.cache.folder.glob("job-*")) == []


async def test_both_builds_share_the_limit(tmp_path: Path) -> None:
    """The second build has the time that the first one left, not the limit once more."""
    desk = Desk(tmp_path)
    result = await desk.build("#include <torch/extension.h>\nint a = NETWORK;\n", limit=0.0)
    assert not result.ok
    assert "took longer" in result.reason


async def test_a_full_disk_stops_both_builds(tmp_path: Path) -> None:
    """What a full disk stopped is told as that, and not built again with all headers, which takes more room."""
    desk = Desk(tmp_path)
    said = "cc1plus: fatal error: error writing to /tmp/a.s: No space left on device"
    (tmp_path / "cxx").write_text(f'#!/bin/sh\necho "$*" >> "{desk._calls}"\necho "{said}"\nexit 1\n')
    result = await desk.build("int a;")
    assert (result.ok, result.machine, desk.compiled) == (False, True, ["operators"])


class Orders:
    """Full builds of which none works: what was left out of each and the seconds that it had."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, wait: Callable[[Without | None], Awaitable[object]]) -> None:
        self.seen: list[tuple[Without | None, float]] = []

        async def full(maker: Maker, order: Order, slots: Slots, without: Without | None = None) -> Result:
            self.seen.append((without, order.limit - order.spent))
            await wait(without)
            return Result(name="k", ok=False, way="full")

        monkeypatch.setattr(Maker, "_full", full)


async def test_second_build_has_the_time_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the build with fewer headers took is not there for the one with all of them."""
    orders = Orders(monkeypatch, lambda without: asyncio.sleep(0.05 if without else 0))
    await Desk(tmp_path).build("int a;", limit=60.0)
    assert [without for without, _ in orders.seen] == ["operators", None]
    assert orders.seen[0][1] == 60.0
    assert orders.seen[1][1] <= 59.95


async def test_words_of_the_limit(tmp_path: Path) -> None:
    """The limit that is told is the user's, not what was left of it for the second build."""
    desk = Desk(tmp_path)
    (tmp_path / "cxx").write_text("#!/bin/sh\nexec sleep 1000\n")
    assert "longer than 0.2 s" in (await desk.build("int a;", limit=0.2)).reason


async def test_with_room_neither_waits_for_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with many cores the build with all headers is there before the other one has ended."""
    begun = asyncio.Event()

    async def wait(without: Without | None) -> None:
        if without is None:
            begun.set()
        await begun.wait()

    Orders(monkeypatch, wait)
    await asyncio.wait_for(Desk(tmp_path, slots=8).build("int a;"), 20)


async def test_a_build_that_is_not_needed_is_ended() -> None:
    """When the first build works, the one beside it is cancelled before the result is given."""
    ended: list[str] = []

    async def second() -> Result:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return Result(name="k", ok=True, way="full")

    async def first() -> Result:
        await asyncio.sleep(0.001)
        return Result(name="k", ok=True, way="slim")

    race = asyncio.ensure_future(first_good(first(), second, together=True, goes_on=lambda result: True))
    done, _pending = await asyncio.wait({race}, timeout=20)
    assert done
    assert (race.result()[0].way, race.result()[1], ended) == ("slim", None, ["cancelled"])


async def test_a_build_that_breaks_beside_a_good_one() -> None:
    """What goes wrong with a build that is not needed loses nothing of the one that worked."""

    async def second() -> Result:
        raise OSError("no room")

    async def first() -> Result:
        await asyncio.sleep(0.001)
        return Result(name="k", ok=True, way="slim")

    assert (await first_good(first(), second, together=True, goes_on=lambda result: True))[0].ok


@pytest.mark.parametrize(
    ("line", "without"), [("int a = 1;", "operators"), ("int a = NETWORK;", None), ("int a = nothing;", "operators")]
)
async def test_precompiled_header_is_the_one_that_served(
    line: str, without: Without | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The header that is precompiled for later is that of the build that worked; an error asks for no larger one."""
    asked: list[Without | None] = []
    monkeypatch.setattr(PrecompiledHeaders, "prepare", lambda headers, request, which: asked.append(which))
    await Desk(tmp_path).build(f"#include <torch/extension.h>\n{line}\n")
    assert asked == [without]


def _compiled(request: Request, folder: Path, without: Without | None) -> Mapping[str, bytes]:
    """The machine code of every kernel, host code compiled along with it."""
    write_units(request, folder)
    write(without, tools(), folder)
    argv = full_commands(request, with_fewer(tools(), without), arch(), "k.so")[0][0].argv
    run(argv, folder)
    run(_device_only(argv), folder)
    return kernels(folder / "cuda.cubin")


def _device_only(argv: Sequence[str]) -> list[str]:
    return [{"-c": "-cubin", "cuda.o": "cuda.cubin"}.get(word, word) for word in argv]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("without", REPLACED)
def test_candidates_come_to_the_same(without: Without, tmp_path: Path) -> None:
    """All candidates compile without what they do not name, and their kernels have the same machine code."""
    needs_nvcc()
    texts = {
        name: text for name, text in cuda_texts().items() if left_out(Request(name="k", cuda=text), tools()) == without
    }
    request = Request(name="all", cuda="#undef TORCH_EXTENSION_NAME\n" + joined(texts), cuda_flags=(f"-I{STUBS}",))
    few, whole = (_compiled(request, tmp_path, choice) for choice in (without, None))
    assert len(few) >= len(texts) > 5
    assert few == whole


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("without", [*REPLACED, None])
def test_a_module_of_torchs_loads_and_runs(without: Without | None, tmp_path: Path) -> None:
    """Modules that are built with fewer headers load, and take and give tensors as ever."""
    needs_cxx()
    value = {"operators": "t", "modules": "torch::relu(t)", None: "torch::nn::ReLU()(t)"}[without]
    text = (
        f"#include <torch/extension.h>\nat::Tensor f(at::Tensor t) {{ return {value}; }}\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }\n'
    )
    request = Request(name="k", cpp=text)
    assert left_out(request, tools()) == without
    write_units(request, tmp_path)
    write(without, tools(), tmp_path)
    for stage in full_commands(request, with_fewer(tools(), without), arch(), "k.so"):
        run(stage[0].argv, tmp_path)
    code = "import sys, torch; sys.path.insert(0, '.'); import k; print(k.f(torch.ones(2)).tolist())"
    said = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert said.stdout == "[1.0, 1.0]\n", said.stderr


_CLASHES = {
    "operator": "T operator+(const T& a, const T& b) { return a.add(b); }\nT f(T a, T b) { return a + b; }",
    "comment": "static T /* clamped */ relu(const T& a) { return a; }\nT f(T a) { return relu(a); }",
    "attribute": "static T __attribute__((noinline)) relu(const T& a) { return a; }\nT f(T a) { return relu(a); }",
    "macro": "#define U(name) T name(const T& a) { return a; }\nU(relu)\nT f(T a) { return relu(a); }",
    "name": "namespace torch { struct OrderedDict { int a; }; }",
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("what", _CLASHES)
def test_what_all_headers_refuse_is_refused(what: str, tmp_path: Path) -> None:
    """Texts whose own names clash with torch's are built with the headers that show it."""
    needs_cxx()
    request = Request(name="k", cpp=f"#include <torch/extension.h>\nusing T = torch::Tensor;\n{_CLASHES[what]}\n")
    write_units(request, tmp_path)
    for without in {left_out(request, tools()), None}:
        write(without, tools(), tmp_path)
        with pytest.raises(CompileError, match="error: "):
            run(full_commands(request, with_fewer(tools(), without), arch(), "k.so")[0][0].argv, tmp_path)

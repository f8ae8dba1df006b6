"""What builds with slim headers, and what is refused or left to the full build."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.build.candidates import candidates, cuda_texts, problems
from tests.build.cubin import kernels
from tests.build.joined import joined
from tests.build.slim_builds import (
    STUBS,
    CompileError,
    build_full,
    build_slim,
    compile_command,
    compile_only,
    needs_cxx,
    needs_nvcc,
    python,
    run,
    tools,
)
from workbench.build import fast
from workbench.build.model import Request
from workbench.build.slim import headers

TEXTS = cuda_texts()
_FAKE_CUBLAS = 'extern "C" int cublasGemmEx() { return 15; }\n'


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the compiled runtime goes; the first build makes it."""
    return tmp_path_factory.mktemp("runtime") / "runtime.o"


def _all_joined() -> str:
    return "#undef TORCH_EXTENSION_NAME\n" + joined(TEXTS)


def _request(name: str, cuda: str, folder: Path) -> Request:
    """A request that also compiles and loads where the toolkit has no cuBLAS."""
    (folder / "cublas.cpp").write_text(_FAKE_CUBLAS, encoding="utf-8")
    run((tools().cxx, "-shared", "-fPIC", "cublas.cpp", "-o", "libcublas.so"), folder)
    found = (f"-L{folder}", "-lcublas", f"-Wl,-rpath,{folder}")
    return Request(name=name, cuda=cuda, cuda_flags=("-O3",), includes=(str(STUBS),), ld_flags=found)


_LOAD_ALL = """
import importlib.machinery, importlib.util, json, sys, torch
found = {}
for name in sys.argv[2:]:
    loader = importlib.machinery.ExtensionFileLoader(name, sys.argv[1])
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    found[name] = [key for key in vars(module) if not key.startswith("_")]
print(json.dumps(found))
"""


_LOAD = """
import ctypes, sys, torch
try: ctypes.CDLL(sys.argv[1])
except OSError as error: print(error)
"""


@pytest.mark.timeout(300)
def test_every_candidate_builds_and_loads(tmp_path: Path, runtime: Path) -> None:
    """Candidates of all kinds compile with slim headers, and load into a torch without CUDA."""
    needs_nvcc()
    library = build_slim(_request("all", _all_joined(), tmp_path), tmp_path, runtime)
    found = json.loads(python(_LOAD_ALL, str(library), *TEXTS))
    assert len(found) == len(TEXTS) >= 20
    for name, functions in found.items():
        assert functions == re.findall(r'm\.def\(\s*"(\w+)"', TEXTS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_each_candidate_builds_alone(name: str, tmp_path: Path, runtime: Path) -> None:
    """A candidate needs nothing that another one's includes bring along."""
    needs_nvcc()
    request = _request(name, TEXTS[name], tmp_path)
    assert fast.obstacle(request, tools()) == ""
    assert name in json.loads(python(_LOAD_ALL, str(build_slim(request, tmp_path, runtime)), name))


def test_a_launch_without_a_gpu_is_an_error_of_torch(tmp_path: Path, runtime: Path) -> None:
    """A function that is called without a GPU fails with the text of its own check."""
    needs_nvcc()
    library = build_slim(_request("c", TEXTS["allgather_copies"], tmp_path), tmp_path, runtime)
    said = python(
        "import sys, torch; sys.path.insert(0, sys.argv[1]); import c\n"
        "try: c.gather([1, 2], torch.ones(2))\n"
        "except RuntimeError as error: print(error)",
        str(library.parent),
    )
    assert said == "out must be a contiguous CUDA tensor\n"


def test_candidates_belong_to_problems() -> None:
    """Each candidate is Python that calls the builder with its CUDA text, for a problem of the set."""
    assert candidates().keys() == problems().keys()
    for text in candidates().values():
        compile(text, "candidate.py", "exec")
        assert "compile_cuda_extension(" in text
        assert "def solution(" in text


_REFUSED = {
    "a type that torch exports no data_ptr for": "void* f(torch::Tensor t) { return t.data_ptr<long long>(); }",
    "a pointer of another type": "float* f(torch::Tensor t) { return t.data_ptr<double>(); }",
    "a dtype as a number": "bool f(torch::Tensor t) { return t.dtype() == 6; }",
    "a dtype in a switch": "int f(torch::Tensor t) { switch (t.dtype()) { default: return 0; } }",
    "a name of another namespace": "auto f() { return at::kFloat32; }",
    "a CUDA name without its header": "auto f() { return at::cuda::getCurrentCUDAStream(); }",
    "a bfloat16 of torch as CUDA's own": (
        "#include <cuda_bf16.h>\n__nv_bfloat16 f(torch::Tensor t) { return *t.data_ptr<at::BFloat16>(); }"
    ),
    "int64 as long long": "long long* f(torch::Tensor t) { return t.data_ptr<int64_t>(); }",
    "an argument without a name": (
        "int f(int a, int b) { return a + b; }\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, py::arg("a")); }'
    ),
    "a header that is not there": "#include <not_there.h>\nint f() { return 1; }",
    "a check that needs a text": "void f(int a) { TORCH_CHECK_INDEX(a > 1); }",
    "a tensor as a number": "int f(torch::Tensor t) { return t; }",
}
"""What torch's own headers refuse: compiled with both in the slow test."""

_LEFT = {
    "mathematics of torch": "torch::Tensor f(torch::Tensor t) { return torch::matmul(t, t); }",
    "a deleter": "torch::Tensor f(void* p) { return torch::from_blob(p, {1}, [](void*) {}); }",
    "an argument of another kind": (
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", [](at::IntArrayRef a) { return a.size(); }); }'
    ),
    "an accessor": "float f(torch::Tensor t) { return t.accessor<float, 1>()[0]; }",
}
"""What torch's own headers take and slim ones do not: the full build runs."""


@pytest.mark.parametrize("what", [*_REFUSED, *_LEFT])
def test_nothing_is_accepted_that_the_full_build_might_refuse(what: str, tmp_path: Path) -> None:
    """Slim headers refuse what torch's own refuse, and what they cannot do right."""
    needs_cxx()
    request = Request(name="refused", cpp=(_REFUSED | _LEFT)[what], includes=(f"{tools().cuda_home}/include",))
    with pytest.raises(CompileError, match="error"):
        compile_only(request, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("what", _REFUSED)
def test_torchs_own_headers_refuse_the_same(what: str, tmp_path: Path) -> None:
    """The texts above are refused by the full build as well; one of them when the library is loaded."""
    needs_cxx()
    request = Request(name="refused", cpp=_REFUSED[what], includes=(f"{tools().cuda_home}/include",))
    try:
        said = python(_LOAD, str(build_full(request, tmp_path)))
    except CompileError as error:
        said = str(error)
    assert re.search(r": error: |undefined symbol", said)


@pytest.mark.parametrize(
    "text",
    [
        "c10::complex<float> f(torch::Tensor t) { return t.data_ptr<c10::complex<float>>()[0] * 2.0f; }",
        "int f(std::map<std::string, int>& m) { std::unique_lock<std::mutex> l(*new std::mutex()); return m.size(); }",
        "using namespace std;\nunordered_map<int, shared_ptr<float>> known;",
    ],
)
def test_what_takes_longer_to_compile_is_there_when_it_is_named(text: str, tmp_path: Path) -> None:
    """Complex numbers and rarer parts of the standard library need no include beside torch's."""
    needs_cxx()
    compile_only(Request(name="rare", cpp=text), tmp_path)


def test_cudas_own_conversions_stay_switched_off(tmp_path: Path) -> None:
    """Kernels that lean on implicit bfloat16 arithmetic are refused, as torch's build flags refuse them."""
    needs_nvcc()
    text = "#include <cuda_bf16.h>\n__global__ void k(__nv_bfloat16* p, float* q) { *q = *p; }\n"
    with pytest.raises(CompileError, match="no suitable conversion"):
        compile_only(Request(name="k", cuda=text), tmp_path)


def test_headers_are_those_of_this_torch(tmp_path: Path) -> None:
    """Each header that has a slim counterpart is one of torch's; what another torch lacks is not there."""
    needs_cxx()
    includes = tools().torch_includes
    assert [name for name in headers.known() if headers.provided_by(name, includes) is None] == []
    older = tmp_path / "include"
    (older / "torch").mkdir(parents=True)
    (older / "torch/extension.h").touch()
    headers.write(tmp_path / "slim", (str(older),))
    assert [path.name for path in (tmp_path / "slim").rglob("*.h")] == ["extension.h"]


def test_types_of_data_ptr_are_those_that_torch_exports() -> None:
    """data_ptr knows the types that the installed torch exports, quantised and scale types left out."""
    needs_cxx()
    library = Path(tools().torch_lib, "libtorch_cpu.so")
    symbols = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True)
    exported = set(re.findall(r"at::TensorBase::data_ptr<(.+)>\(\) const", symbols.stdout))
    text = (headers.HERE / "include/pkwb/number_types.h").read_text(encoding="utf-8")
    plain = {"uint8_t": "unsigned char", "int8_t": "signed char", "int16_t": "short", "int64_t": "long"}
    plain |= {"uint16_t": "unsigned short", "uint32_t": "unsigned int", "uint64_t": "unsigned long"}
    known = {plain.get(name, name) for name in re.findall(r"^PKWB_PAIR\(([\w:<>]+), \w+\)", text, re.MULTILINE)}
    left = {"c10::qint8", "c10::quint8", "c10::qint32", "c10::quint4x2", "c10::quint2x4", "c10::Float8_e8m0fnu"}
    assert known == {name.strip() for name in exported} - left


_OWN_RELU = "it calls a function relu of its own, as torch has one"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("#include <ATen/core/Dispatch.h>\n", "it includes ATen/core/Dispatch.h"),
        ("#include <torch/nn.h>\n", "it includes torch/nn.h"),
        ("  #  include <ATen/cuda/CUDAGraph.h>\n", "it includes ATen/cuda/CUDAGraph.h"),
        ("void f() { std::thread t; }\n", "it uses threads of its own"),
        ("void f() { py::gil_scoped_release r; }\n", "it uses the interpreter lock"),
        ("TORCH_LIBRARY(mine, m) {}\n", "it uses operators in torch's registry"),
        ("PyObject* f();\n", "it uses Python's C interface"),
        ("namespace torch { struct OrderedDict {}; }\n", "it uses a namespace of torch's"),
        ("T operator + (const torch::Tensor& a, T b);\n", "it uses an operator of its own for tensors"),
        ("T /* own */ relu(T a);\nT f(T a) { return relu(a); }\n", _OWN_RELU),
        ("T __attribute__((noinline)) relu(T a);\nT f(T a) { return relu(a); }\n", _OWN_RELU),
        ("#define U(name) T name(T a) { return a; }\nU(relu)\nT f(T a) { return relu(a); }\n", _OWN_RELU),
        ("__host__ __device__ T relu(T a);\nT f(T a) { return relu(a); }\n", _OWN_RELU),
        ('T relu(T a);\nvoid g(M& m) { m.def("relu", &relu); } // relu(a)\n', ""),
        ("__device__ __forceinline__ float relu(float a);\n__global__ void f(float* a) { *a = relu(*a); }\n", ""),
        ("__global__ void mean(float* a);\nvoid f(float* a) { mean<<<1, 1>>>(a); }\n", ""),
        ("float operator+(float4 a, float4 b); struct L { bool operator()(T a); };\nauto f(T a) { a.sum(); }\n", ""),
        ("#include <torch/extension.h>\n#include <torch/headeronly/util/Half.h>\n#include <vector>\n", ""),
    ],
)
def test_what_cannot_be_slim_is_known_before_a_compiler_runs(text: str, why: str) -> None:
    """A text that names what slim headers have no answer for goes to the full build at once."""
    needs_cxx()
    assert fast.obstacle(Request(name="k", cuda=text), tools()) == why


def _names_request() -> Request:
    text = (Path(__file__).parent / "members.cu").read_text(encoding="utf-8")
    return Request(name="members", cuda=text, includes=(str(STUBS),))


def test_every_name_of_the_slim_headers_compiles(tmp_path: Path) -> None:
    """The list of names that slim headers offer is true of them."""
    needs_nvcc()
    compile_only(_names_request(), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_torchs_own_headers_know_every_name(tmp_path: Path) -> None:
    """What slim headers offer, torch's own offer with the same types."""
    needs_nvcc()
    compile_only(_names_request(), tmp_path, full=True)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_device_code_is_the_same_as_with_torchs_own_headers(tmp_path: Path) -> None:
    """All candidates compile with torch's own headers too, and every kernel has the same machine code both ways."""
    needs_nvcc()
    request = Request(name="all", cuda=_all_joined(), cuda_flags=("-O3",), includes=(str(STUBS),))
    compile_only(request, tmp_path, full=True)
    slim, full = (_kernels(compile_command(request, full=full), tmp_path) for full in (False, True))
    assert len(slim) > 30
    assert slim == full


def _kernels(argv: Sequence[str], folder: Path) -> Mapping[str, bytes]:
    """The machine code of every kernel, from the device's half of a compilation."""
    run([{"-c": "-cubin", "cuda.o": "cuda.cubin"}.get(word, word) for word in argv], folder)
    return kernels(folder / "cuda.cubin")

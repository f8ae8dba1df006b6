"""Raw kernels: CUDA text to something that launches, by NVRTC and the driver. Needs PyTorch and nothing else.

    scale = kernels.compile(SOURCE, "scale")
    scale(blocks, 256, tensor, 2.0, tensor.numel())

No C++ compiler takes part, so this takes tenths of a second. The file stands alone: copied into a folder ``utils``
beside your own, or anywhere on the path, it works without pkwb. Linux only.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import linecache
import math
import operator
import os
import re
import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

Dims = int | Sequence[int]
"""Blocks of a grid, threads of a block, blocks of a cluster: one number, or up to three."""
ROOTS = ("CUTLASS_ROOT", "THUNDERKITTENS_ROOT")
"""Variables that name a checkout of a header-only library; its ``include`` folder is searched where one is set."""
CACHE = "KERNELS_CACHE_DIR"
"""Variable that names the folder where compiled kernels are kept; ``~/.cache/pkwb/kernels`` without it, if any."""
_ARCH_WITHOUT_GPU = "sm_90a"
_HEADER = re.compile(r"[^.]+|.*\.(\w*h\w*|cu|in[cl]|ipp|tpp|def)")
_CACHE_BYTES = 256 << 20
_SMEM_ATTRIBUTE, _WIDE_CLUSTER_ATTRIBUTE = 8, 14
_COOPERATIVE, _CLUSTER = 2, 4
_PORTABLE_CLUSTER = 8
_FORMATS = {"f32": "=f", "f64": "=d"} | {
    f"{sign}{8 * struct.calcsize(code)}": code for code in ("=B", "=H", "=I", "=Q") for sign in "usb"
}
_WORDS = {"B": "a bool or char", "H": "a short", "I": "an int", "Q": "a pointer or a 64-bit integer"}
_STDINT = b"""
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef signed long long int64_t, intptr_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t, uintptr_t;
"""
_ERROR = re.compile(r"^(?P<file>\S.*?)\((?P<line>\d+)\): .*error.*", re.MULTILINE)


class CompileError(SyntaxError):
    """NVRTC refused a source: its first error, as ``kernel.cu(12): error: ...``; the whole log goes to stderr.

    ``filename``, ``lineno`` and ``offset``: where that stands in the Python file, if the text is written there as is.
    """


class CudaError(RuntimeError):
    """The driver refused to load or to launch a kernel."""


def compile(
    source: str, name: str, *, options: Sequence[str] = (), include_paths: Sequence[str] = (), arch: str = ""
) -> Kernel:
    """The ``__global__`` function ``name`` of CUDA text; ``name`` may be an instance of a template: ``scale<float>``.

    ``options`` go to NVRTC (``-std=c++20``, ``-DN=4``, ``--use_fast_math``). CUDA's own headers are found, and
    ``<cstdint>`` is there; the rest of the C++ library is ``<cuda/std/...>``. ``arch`` is the current GPU's when empty,
    such as ``sm_90a``. The same arguments give the same kernel again.

    Raises CompileError with NVRTC's log, and OSError where there is no NVRTC.
    """
    return _compiled(source, name, tuple(options), tuple(map(str, include_paths)), arch or _current_arch())


class Kernel:
    """A compiled kernel; it is loaded on a GPU when it is first launched there."""

    def __init__(self, name: str, entry: str, parameters: Sequence[str], cubin: bytes) -> None:
        self.name, self.cubin = name, cubin
        self.parameters = tuple(parameters)
        """What :mod:`struct` calls each parameter's type: ``Q`` for a pointer, ``f`` a float, ``64s`` a struct."""
        self._entry = entry.encode()
        self._pack = struct.Struct("=" + "".join(parameters))
        self._offsets = [struct.calcsize("=" + "".join(parameters[:i])) for i in range(len(parameters))]
        self._loaded: ctypes.c_void_p | None = None
        self._smem: dict[int, int] = {}

    def __call__(
        self,
        grid: Dims,
        block: Dims,
        *args: Any,
        smem: int = 0,
        stream: torch.cuda.Stream | int | None = None,
        cooperative: bool = False,
        cluster: Dims | None = None,
    ) -> None:
        """Launch on the current GPU, or on a stream's; nothing is waited for.

        A pointer is a tensor, an address (such as one of a symmetric-memory handle's ``buffer_ptrs``) or None; a
        number is an int, float or bool that fits its parameter; a struct is bytes, a ctypes structure, or a list of
        addresses, filled up with zeros. ``smem`` is dynamic shared memory in bytes, ``stream`` the current one when
        None. ``cooperative`` launches can synchronise the grid. Raises TypeError or ValueError for arguments that do
        not fit, CudaError for what the driver refuses.
        """
        data = ctypes.create_string_buffer(self._packed(args), max(1, self._pack.size))
        base = ctypes.addressof(data)
        pointers = (ctypes.c_void_p * (len(args) + 1))(*[base + offset for offset in self._offsets])
        attributes = _attributes(cooperative, cluster)
        shape = (*_dims(grid, "grid"), *_dims(block, "block"))
        launch = _driver().cuLaunchKernelEx
        device, handle = _place(stream)
        config = _Config(*shape, smem, handle, attributes, len(attributes))
        with torch.cuda.device(device):
            _enter(device)
            function = self._function()
            self._allow(function, device, smem, cluster)
            code = launch(ctypes.byref(config), function, pointers, None)
        if code:
            raise CudaError(f"launching {self.name} failed: {_error_text(code)}; grid and block {shape}, smem {smem}")

    def _packed(self, args: tuple[Any, ...]) -> bytes:
        if len(args) != len(self.parameters):
            raise TypeError(f"{self.name} takes {len(self.parameters)} arguments and got {len(args)}")
        values = []
        for i, (value, code) in enumerate(zip(args, self.parameters)):
            try:
                values.append(_encoded(value, code))
            except (TypeError, ValueError) as error:
                due = _WORDS.get(code, "a number" if code in "fd" else "a struct")
                raise type(error)(f"argument {i} of {self.name} is {due} there: {error}") from None
        return self._pack.pack(*values)

    def _function(self) -> ctypes.c_void_p:
        if self._loaded is None:
            library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
            no_options = (None, None, 0, None, None, 0)
            _check(_driver().cuLibraryLoadData(ctypes.byref(library), self.cubin, *no_options), f"loading {self.name}")
            _check(_driver().cuLibraryGetKernel(ctypes.byref(kernel), library, self._entry), f"loading {self.name}")
            self._loaded = kernel
        return self._loaded

    def _allow(self, kernel: ctypes.c_void_p, device: int, smem: int, cluster: Dims | None) -> None:
        """Dynamic shared memory above 48 KB, and clusters of more than 8 blocks, have to be asked for."""
        if smem > self._smem.get(device, 0):
            doing = f"asking for {smem} bytes of shared memory for {self.name}"
            _check(_driver().cuKernelSetAttribute(_SMEM_ATTRIBUTE, smem, kernel, device), doing)
            self._smem[device] = smem
        if cluster is not None and math.prod(_dims(cluster, "cluster")) > _PORTABLE_CLUSTER:
            _check(_driver().cuKernelSetAttribute(_WIDE_CLUSTER_ATTRIBUTE, 1, kernel, device), "asking for a cluster")


def _encoded(value: Any, code: str) -> Any:
    """An argument as :mod:`struct` takes it for a parameter of that type."""
    if code.endswith("s"):
        return _struct_bytes(value, int(code[:-1]))
    if code in "fd":
        return float(value)
    number = _address(value) if code == "Q" else operator.index(value)
    bits = 8 * struct.calcsize("=" + code)
    if not -(1 << bits - 1) <= number < 1 << bits:
        raise ValueError(f"{number} does not fit into {bits} bits")
    return number & (1 << bits) - 1


def _address(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        if not (value.is_cuda or value.is_pinned()):
            raise ValueError(f"the tensor lies on the {value.device.type}, where no kernel reaches it")
        return value.data_ptr()
    return 0 if value is None else operator.index(value)


def _struct_bytes(value: Any, size: int) -> bytes:
    if isinstance(value, (list, tuple)):
        value = struct.pack(f"{len(value)}Q", *map(_address, value)).ljust(size, b"\0")
    found = bytes(memoryview(value))
    if len(found) != size:
        raise ValueError(f"the parameter is a struct of {size} bytes; got {len(found)}")
    return found


def _dims(given: Dims, what: str) -> tuple[int, int, int]:
    sizes = (given,) if isinstance(given, int) else tuple(map(operator.index, given))
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise ValueError(f"{what} {given} is not one to three numbers from 1 on")
    return (*sizes, 1, 1)[:3]  # type: ignore[return-value]


def _place(stream: torch.cuda.Stream | int | None) -> tuple[int, int]:
    """The GPU that a launch goes to, and the raw stream."""
    if isinstance(stream, int):
        return torch.cuda.current_device(), stream
    stream = stream or torch.cuda.current_stream()
    return stream.device_index, stream.cuda_stream


# --- compiling ---

_Built = tuple[str, list[str], bytes]
"""The kernel's name in the object, its parameters, the object."""


@functools.cache
def _compiled(source: str, name: str, options: tuple[str, ...], include_paths: tuple[str, ...], arch: str) -> Kernel:
    nvrtc, folders = _nvrtc()
    own = [*include_paths, *(str(Path(os.environ[root], "include")) for root in ROOTS if os.environ.get(root))]
    flags = [f"--gpu-architecture={arch}", *options, *(f"-I{folder}" for folder in (*own, *folders))]
    key = hashlib.sha256(
        repr((source, name, flags, os.stat(nvrtc._name).st_mtime_ns, list(_stamps(own)))).encode()
    ).hexdigest()
    built = _read(key)
    if built is None:
        built = _run(nvrtc, source, name, flags)
        _publish(key, built)
    return Kernel(name, *built)


def _run(nvrtc: ctypes.CDLL, source: str, name: str, flags: list[str]) -> _Built:
    program, lowered = ctypes.c_void_p(), ctypes.c_char_p()
    headers, names = (ctypes.c_char_p * 2)(_STDINT, _STDINT), (ctypes.c_char_p * 2)(b"cstdint", b"stdint.h")
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 2, headers, names)
    try:
        nvrtc.nvrtcAddNameExpression(program, name.encode())
        if nvrtc.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*map(str.encode, flags))):
            log = _output(nvrtc, program, "ProgramLog").decode(errors="replace").strip("\0\n ")
            raise _refusal(log, source, name, flags)
        nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(lowered))
        entry = (lowered.value or b"").decode()
        ptx = _output(nvrtc, program, "PTX").decode(errors="replace")
        return entry, _parameters(ptx, entry), _output(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _output(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(max(1, size.value))
    getattr(nvrtc, f"nvrtcGet{what}")(program, text)
    return text.raw[: size.value]


def _refusal(log: str, source: str, name: str, flags: list[str]) -> CompileError:
    first = _ERROR.search(log)
    if first is not None and first["file"].startswith("__nv_name_map"):
        return CompileError(f"the source has no __global__ function {name!r}; is its template full?")
    if first is None:
        return CompileError(log or f"NVRTC takes none of this: {flags}")
    print(log, file=sys.stderr)
    if first["file"] != "kernel.cu":
        return CompileError(first[0])
    inside, frame = int(first["line"]), sys._getframe()
    text = source.split("\n")[inside - 1]
    while frame.f_back:
        frame = frame.f_back
        lines = linecache.getlines(frame.f_code.co_filename)
        before, here, _after = "".join(lines).partition(source)
        if here:
            line = before.count("\n") + inside
            column = _column(log[first.end() :], text)
            indent = lines[line - 1].find(text)
            return CompileError(first[0], (frame.f_code.co_filename, line, column and column + max(0, indent), text))
    return CompileError(first[0])


def _column(shown: str, text: str) -> int | None:
    """The column of a caret below the line that NVRTC shows, where that line is the one that is written."""
    lines = shown.split("\n")[1:6]
    caret = next((number for number, line in enumerate(lines) if line.strip() == "^"), 0)
    return lines[caret].index("^") - 1 if caret and lines[caret - 1].strip() == text.strip() else None


def _parameters(ptx: str, entry: str) -> list[str]:
    found = re.search(rf"\.entry\s+{re.escape(entry)}\s*\(([^)]*)\)", ptx)
    declared = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)[^,\[]*(?:\[(\d+)\])?", found[1] if found else "")
    return [f"{size}s" if size else _FORMATS[kind][1:] for kind, size in declared]


def _current_arch() -> str:
    if not torch.cuda.is_available():
        return _ARCH_WITHOUT_GPU
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


# --- what is kept on disk: a line of JSON, then the cubin ---


def _folder() -> Path:
    return Path(os.environ.get(CACHE) or Path.home() / ".cache" / "pkwb" / "kernels")


def _stamps(folders: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Name, size and time of every file that a source may include."""
    for place, inside, names in (found for folder in folders for found in os.walk(folder)):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        for path in (os.path.join(place, name) for name in sorted(names) if _HEADER.fullmatch(name)):
            with contextlib.suppress(OSError):  # an editor's lock is a link that leads nowhere
                facts = os.stat(path)
                yield path, facts.st_size, facts.st_mtime_ns


def _read(key: str) -> _Built | None:
    with contextlib.suppress(OSError, RuntimeError, ValueError, KeyError, TypeError):
        path = _folder() / key
        head, cubin = path.read_bytes().split(b"\n", 1)
        stored = json.loads(head)
        with contextlib.suppress(OSError):
            os.utime(path)
        if stored["sha256"] == hashlib.sha256(cubin).hexdigest():
            return stored["entry"], stored["parameters"], cubin
    return None


def _publish(key: str, built: _Built) -> None:
    """Keep a result under its key; a folder that cannot be written only costs time."""
    entry, parameters, cubin = built
    head = {"entry": entry, "parameters": parameters, "sha256": hashlib.sha256(cubin).hexdigest()}
    with contextlib.suppress(OSError, RuntimeError):
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
            try:
                file.write(json.dumps(head).encode() + b"\n" + cubin)
                file.flush()
                os.replace(file.name, folder / key)
            except OSError:
                os.unlink(file.name)
        _trim(folder)


def _trim(folder: Path) -> None:
    """Remove what was not used for longest, until the folder is within its size."""
    files = sorted(((path.stat().st_mtime, path.stat().st_size, path) for path in folder.iterdir()), reverse=True)
    total = 0
    for _time, size, path in files:
        total += size
        if total > _CACHE_BYTES:
            path.unlink(missing_ok=True)


# --- the two libraries ---


@functools.cache
def _nvrtc() -> tuple[ctypes.CDLL, tuple[str, ...]]:
    """NVRTC and the folders of CUDA's headers; of several, the one of PyTorch's own CUDA version."""
    wanted = "." + (torch.version.cuda or "").split(".")[0]
    found = [path for folder in _toolkits() for path in sorted(folder.glob("lib*/libnvrtc.so.*"))]
    for path in sorted(found, key=lambda path: path.suffixes[1:2] != [wanted]):
        with contextlib.suppress(OSError):
            for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
                ctypes.CDLL(str(builtins))
            return ctypes.CDLL(str(path)), _header_folders(path)
    raise OSError("there is no NVRTC here: pip install nvidia-cuda-nvrtc, or set CUDA_HOME to a CUDA toolkit")


def _toolkits() -> list[Path]:
    """Folders that may hold parts of CUDA: those of wheels, then toolkits."""
    wheels = [folder for entry in sys.path for folder in sorted(Path(entry or ".", "nvidia").glob("*"))]
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), sys.prefix, "/usr/local/cuda"]
    return [*wheels, *(Path(home) for home in homes if home)]


def _header_folders(library: Path) -> tuple[str, ...]:
    """The first folders that have CUDA's headers and its C++ library, those beside the library before all others."""
    includes = [folder / "include" for folder in (library.parent.parent, *_toolkits())]
    places = {
        "cuda_bf16.h": includes,
        "cuda/std/type_traits": [place for one in includes for place in (one, one / "cccl")],
    }
    found = [next((str(place) for place in folders if (place / name).exists()), "") for name, folders in places.items()]
    return tuple(dict.fromkeys(filter(None, found)))


@functools.cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise CudaError(f"there is no NVIDIA driver here: the kernel compiles, but it cannot run ({error})") from None


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "smem")]
    _fields_ += [("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(_Attribute)), ("count", ctypes.c_uint)]


def _attributes(cooperative: bool, cluster: Dims | None) -> Any:
    chosen: list[tuple[int, tuple[int, ...]]] = [(_COOPERATIVE, (1,))] if cooperative else []
    chosen += [(_CLUSTER, _dims(cluster, "cluster"))] if cluster is not None else []
    return (_Attribute * len(chosen))(*(_Attribute(kind, 0, (ctypes.c_uint * 16)(*value)) for kind, value in chosen))


def _enter(device: int) -> None:
    """Make the GPU's context this thread's: PyTorch does that at its own first call of a thread only."""
    driver, current, context = _driver(), ctypes.c_int(-1), ctypes.c_void_p()
    if driver.cuCtxGetDevice(ctypes.byref(current)) == 0 and current.value == device:
        return
    torch.cuda.init()
    retained = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    _check(retained or driver.cuCtxSetCurrent(context), f"using GPU {device}")


def _check(code: int, doing: str) -> None:
    if code:
        raise CudaError(f"{doing} failed: {_error_text(code)}")


def _error_text(code: int) -> str:
    text = ctypes.c_char_p()
    _driver().cuGetErrorString(code, ctypes.byref(text))
    return f"{(text.value or b'unknown').decode()} (error {code})"

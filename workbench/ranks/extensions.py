"""What a call that builds an extension asks for, as plain data: the same for a rank that makes the call and for a look
at the source that finds it before anything runs. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from workbench.ranks.channel import Message

_Texts = str | Sequence[str] | None


class Unsupported(Exception):
    """A call with arguments that the build service does not serve; torch's own way is left for it."""


def cuda_extension(
    name: str,
    cuda_src: str,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
) -> Message:
    """The request of ``utils.cuda_helpers.compile_cuda_extension``."""
    return {
        "name": name,
        "cuda": cuda_src,
        "cpp": "",
        "cuda_flags": ["-O3", *(extra_cuda_cflags or ())],
        "cpp_flags": [],
        "ld_flags": list(extra_ldflags or ()),
        "includes": list(extra_include_paths or ()),
    }


def inline_extension(
    name: str,
    cpp_sources: _Texts,
    cuda_sources: _Texts = None,
    sycl_sources: _Texts = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: str | Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> Message:
    """The request of ``torch.utils.cpp_extension.load_inline``; Unsupported says which argument it cannot hold."""
    if sycl_sources or with_sycl or not is_python_module or no_implicit_headers or (with_cuda and not cuda_sources):
        raise Unsupported("SYCL, plain libraries, no_implicit_headers and CUDA without CUDA text are left to torch")
    definition = module_definition(functions, with_pytorch_error_handling)
    return {
        "name": name,
        "cuda": _joined(cuda_sources),
        "cpp": "\n".join(filter(None, [_joined(cpp_sources), definition])),
        "cuda_flags": list(extra_cuda_cflags or ()),
        "cpp_flags": list(extra_cflags or ()),
        "ld_flags": list(extra_ldflags or ()),
        "includes": _listed(extra_include_paths),
    }


CALLS: dict[str, Callable[..., Message]] = {
    "compile_cuda_extension": cuda_extension,
    "load_inline": inline_extension,
}
"""The calls that the build service serves, by the function's name."""


def module_definition(functions: str | Sequence[str] | Mapping[str, str] | None, checked: bool) -> str:
    """The module that binds these functions; empty where the text has its own. A mapping holds their docstrings."""
    if functions is None:
        return ""
    names = _listed(functions) if not isinstance(functions, Mapping) else list(functions)
    words = dict(functions) if isinstance(functions, Mapping) else {name: name for name in names}
    bound = "torch::wrap_pybind_function({})" if checked else "{}"
    lines = [f'  m.def("{name}", {bound.format(name)}, "{words[name]}");' for name in names]
    return "\n".join(["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"])


def _joined(texts: _Texts) -> str:
    return texts if isinstance(texts, str) else "\n".join(texts or ())


def _listed(value: str | Sequence[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())

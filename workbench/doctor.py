"""What this machine, its settings and its terminal mean for pkwb: findings, each with a consequence for the user."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from workbench import __version__
from workbench.checks.compiling import cache_finding, compiler_without_gpus
from workbench.checks.findings import Finding, note, ok, problem
from workbench.checks.gpus import gpu_findings, torch_findings
from workbench.checks.links import link_findings
from workbench.checks.look import complete_look
from workbench.checks.probe import Probe, ask_ranks
from workbench.config import Settings
from workbench.devices import installed_gpus, pci_gpus, visible_gpus
from workbench.errors import RanksError, SettingsError, UsageError
from workbench.files import network_filesystem
from workbench.settings import load_settings, settings_files
from workbench.stores import open_store
from workbench.topology.gpu_state import read_machine
from workbench.topology.host import find_host, free_memory

_MB = 1_000_000
_LEAST_SHM = 256 * _MB
"""Below this, /dev/shm may be too small for the large sizes of the problems."""
_LEAST_FILES = 512


def examine(cwd: Path) -> list[Finding]:
    """All findings; may take seconds, since it starts the ranks' interpreter."""
    settings, first = _settings(cwd)
    return [*first, *(finding for check in CHECKS for finding in check(settings, cwd))]


def _settings(cwd: Path) -> tuple[Settings, list[Finding]]:
    places = ", ".join(str(file) for file in settings_files(cwd))
    try:
        settings = load_settings(cwd=cwd)
    except SettingsError as error:
        meaning = "pkwb does not start until this is corrected; the checks below use the defaults"
        return Settings(), [problem("settings", str(error), meaning)]
    if settings.sources:
        return settings, [ok("settings", ", ".join(settings.sources), "these files are in force, later ones win")]
    return settings, [ok("settings", "defaults", f"no settings file; pkwb looks for {places}")]


def _versions(settings: Settings, cwd: Path) -> Iterator[Finding]:
    version = platform.python_version()
    yield ok("pkwb", __version__, f"on Python {version}, {platform.system()} {platform.release()}")
    if not (3, 10) <= sys.version_info[:2] <= (3, 13):
        yield problem("python", version, "pkwb is made for Python 3.10 to 3.13")


def _ranks(settings: Settings, cwd: Path) -> Iterator[Finding]:
    """The interpreter of the ranks and the GPUs: what NVML says is read before and after the interpreter is asked."""
    count, machine = visible_gpus(), None
    try:
        machine = read_machine(count) if count else None
    except UsageError as error:
        yield note("gpus", f"{count}, but {error}", "GPU ranks may still run; topology and link rates are not known")
    probe = yield from _torch(settings)
    if machine is not None:
        look = complete_look(machine, probe, settings.ranks.world, settings.ranks.share_gpus)
        yield from gpu_findings(look)
        yield from link_findings(look)
    elif count and probe is not None:
        yield from torch_findings(probe, count)
    elif not count:
        yield _no_gpus()
        yield compiler_without_gpus()


def _torch(settings: Settings) -> Generator[Finding, None, Probe | None]:
    python = settings.ranks.python or sys.executable
    try:
        probe = ask_ranks(python)
    except RanksError as error:
        advice = "ranks cannot start; install torch there, or set ranks.python to an interpreter that has it"
        yield problem("torch", str(error), advice)
        return None
    value = f"{probe.torch} in {python} (Python {probe.python})"
    yield ok("torch", value, "the ranks run under this interpreter")
    if not probe.numpy:
        yield note("numpy", f"not in {python}", "all_gather_object and the like crash a kernel; install it there")
    if not probe.gloo:
        yield problem("gloo", "not in this torch", "CPU ranks cannot talk to each other; install another torch build")
    return probe


def _no_gpus() -> Finding:
    hidden = installed_gpus()
    if hidden:
        value = f"{hidden}, hidden by CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', '')}"
        return note("gpus", value, "ranks run on the CPU; unset it to use them")
    idle = pci_gpus()
    if idle:
        remedy = "install NVIDIA's driver or load it; in a container, pass the GPUs in"
        return note("gpus", f"{idle} on the PCI bus, without a driver here", f"ranks run on the CPU; {remedy}")
    return ok("gpus", "none", "ranks run on the CPU, with gloo")


def _machine(settings: Settings, cwd: Path) -> Iterator[Finding]:
    cores, world = _usable_cores(), settings.ranks.world
    crowded = f"{world} ranks share them: times are noisy; give fewer --ranks or more cores"
    enough = f"enough for {world} ranks"
    yield (ok if cores >= world else note)("cores", str(cores), enough if cores >= world else crowded)
    free = free_memory()
    if free is not None:
        need = 2 * world * 250 * _MB
        fits = f"each rank's process needs about 250 MB, twice {world} of them stand by"
        yield (ok if free > need else note)("memory", f"{free // _MB} MB free", fits)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files != resource.RLIM_INFINITY and files < _LEAST_FILES:
        yield note("open files", str(files), f"a low limit; raise it with `ulimit -n {_LEAST_FILES}` before pkwb")


def _usable_cores() -> int:
    host = find_host(Path("/"))
    return max(1, host.cores if host.limit is None else min(host.cores, int(host.limit)))


def _shared_memory(settings: Settings, cwd: Path) -> Iterator[Finding]:
    try:
        usage = shutil.disk_usage("/dev/shm")
    except OSError:
        if platform.system() == "Linux":
            yield problem("/dev/shm", "missing", "tensors travel to the ranks through it; mount a tmpfs there")
        return
    value = f"{usage.free // _MB} of {usage.total // _MB} MB free"
    small = "too small for large sizes; in a container, start it with --shm-size=2g or --ipc=host"
    fine = "tensors travel to the ranks through it, and NCCL's between GPUs that cannot reach each other"
    yield ok("/dev/shm", value, fine) if usage.free >= _LEAST_SHM else note("/dev/shm", value, small)


def _watching(settings: Settings, cwd: Path) -> Iterator[Finding]:
    network = network_filesystem(cwd)
    if network:
        seconds = f"{settings.watch.interval:g} s"
        yield note(
            "folder", f"{cwd} on {network}", f"a network file system: saves are noticed by looking every {seconds}"
        )
    else:
        yield ok("folder", str(cwd), "on a local file system: saves are noticed at once")
    if not os.access(cwd, os.W_OK):
        yield note("folder", f"{cwd} is read-only", "working files cannot be created here; give --root or --file")
    limits = [_number(f"/proc/sys/fs/inotify/max_user_{kind}") for kind in ("watches", "instances")]
    if None not in limits:
        value = f"{limits[0]} watches, {limits[1]} instances"
        yield ok("inotify", value, "limits a user; when they are used up, pkwb looks at the file at intervals instead")


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None


def _terminal(settings: Settings, cwd: Path) -> Iterator[Finding]:
    term = os.environ.get("TERM", "")
    if term in ("", "dumb") or not sys.stdout.isatty():
        yield note(
            "terminal", f"TERM={term or 'unset'}", "no screen here: `pkwb open` needs a terminal, `pkwb eval` does not"
        )
    else:
        columns, lines = shutil.get_terminal_size()
        yield ok("terminal", f"{term}, {columns}x{lines}", "usable from 60x15, everything at once from about 140x40")
    rich = os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
    fewer = "256 colours or fewer; themes ansi-dark and ansi-light use the terminal's own (ui.theme)"
    yield ok("colours", "24 bit", "all themes look as meant") if rich else note("colours", "COLORTERM unset", fewer)
    if os.environ.get("TMUX"):
        lines_wanted = "`set -s set-clipboard on` and `set -g allow-passthrough on` in tmux.conf let copying reach you"
        yield note("tmux", "inside tmux", lines_wanted)
    if os.environ.get("SSH_CONNECTION"):
        yield note("ssh", "over ssh", "animations off, at most 20 frames a second; `ssh -C` helps on slow lines")


def _editor(settings: Settings, cwd: Path) -> Iterator[Finding]:
    command = settings.ui.editor or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    if shutil.which(command.split()[0]):
        yield ok("editor", command, "opens as the external editor")
    else:
        yield note("editor", f"{command}: not found", "set ui.editor, $VISUAL or $EDITOR to use an external editor")


def _cache(settings: Settings, cwd: Path) -> Iterator[Finding]:
    yield cache_finding()


def _store(settings: Settings, cwd: Path) -> Iterator[Finding]:
    store = open_store(settings, thorough=True, create=False)
    try:
        if store.problem_with:
            yield problem("sessions", "not usable", store.problem_with)
        elif store.path is None:
            yield ok("sessions", "none yet", "the session store is made with the first attempt")
        else:
            size = store.path.stat().st_size / _MB
            yield ok("sessions", f"{store.path}, {size:.1f} MB", "whole; keeps every attempt with its source")
    finally:
        store.close()


CHECKS: tuple[Callable[[Settings, Path], Iterator[Finding]], ...] = (
    _versions,
    _ranks,
    _machine,
    _shared_memory,
    _watching,
    _terminal,
    _editor,
    _cache,
    _store,
)

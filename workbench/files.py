"""Files: atomic writes with clear errors, the platform's folders, small JSON caches, kinds of file systems."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any

from workbench.errors import UsageError

APP = "pkwb"

_ADVICE: dict[int, str] = {
    errno.EACCES: "no permission to write into {folder}; change its rights or choose another folder",
    errno.EPERM: "the system forbids writing into {folder}; choose another folder",
    errno.EROFS: "{folder} is on a read-only file system; choose another folder",
    errno.ENOSPC: "the disk is full; free some space and save again",
    errno.EDQUOT: "the disk quota is used up; free some space and save again",
    errno.EFBIG: "the file is larger than the system's limit for files (ulimit -f)",
    errno.ENAMETOOLONG: "the name is too long for this file system; choose a shorter one",
    errno.ENOENT: "the folder {folder} does not exist; create it first",
    errno.ENOTDIR: "{folder} is not a folder; choose another place",
    errno.EISDIR: "it is a folder; choose the name of a file",
    errno.ELOOP: "its symbolic links go round in a circle; point them to a file",
    errno.EIO: "the disk reports an error; save to another disk",
    errno.ESTALE: "the network file system lost the folder; mount it again",
}

# fmt: off
_NETWORK_TYPES = frozenset({
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
    "nfs4", "panfs", "prl_fs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "wekafs",
    "fuse.ceph", "fuse.gcsfuse", "fuse.glusterfs", "fuse.juicefs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
    "fuse.vmhgfs-fuse", "fuse.weka",
})
# fmt: on


def write_atomic(path: Path | str, data: str | bytes) -> None:
    """Replace a file's content at once: readers see the old or the new content, never a part of it.

    Text is written as UTF-8. A symbolic link stays and its target is replaced; mode bits stay, the owner where allowed.
    Raises ``UsageError``, with the old file whole and no temporary file left.
    """
    target = Path(os.path.realpath(path))
    try:
        content = data.encode() if isinstance(data, str) else data
        _replace(target, content)
    except UnicodeEncodeError as error:
        raise UsageError(f"cannot save {path}: character {error.start} is not valid Unicode; remove it") from error
    except OSError as error:
        raise UsageError(f"cannot save {path}: {_advice(error, target.parent)}") from error


def _replace(target: Path, content: bytes) -> None:
    previous = _stat_writable(target)
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            if previous is not None:
                _keep_rights(file.fileno(), previous)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _stat_writable(target: Path) -> os.stat_result | None:
    try:
        previous = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(previous.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if os.statvfs(target).f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))
    if not os.access(target, os.W_OK):
        raise UsageError(f"cannot save {target}: the file is read-only; make it writable (chmod u+w) or save elsewhere")
    return previous


def _keep_rights(descriptor: int, previous: os.stat_result) -> None:
    fresh = os.fstat(descriptor)
    if (fresh.st_uid, fresh.st_gid) != (previous.st_uid, previous.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, previous.st_uid, previous.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(previous.st_mode))


def _advice(error: OSError, folder: Path) -> str:
    text = _ADVICE.get(error.errno or 0, error.strerror or str(error))
    return text.format(folder=folder) if error.errno in _ADVICE else text


def config_dir() -> Path:
    """Folder of the user's settings; ``PKWB_CONFIG_DIR`` overrides it. Not created here."""
    return _folder("config")


def state_dir() -> Path:
    """Folder of what must survive, such as sessions; ``PKWB_STATE_DIR`` overrides it. Not created here."""
    return _folder("state")


def cache_dir() -> Path:
    """Folder of what can be made again, such as measured peaks; ``PKWB_CACHE_DIR`` overrides it. Not created here."""
    return _folder("cache")


def _folder(kind: str) -> Path:
    chosen = os.environ.get(f"PKWB_{kind.upper()}_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    path: Path = getattr(platformdirs, f"user_{kind}_path")(APP, appauthor=False)
    return path


def read_json(path: Path) -> Any:
    """The value in a JSON file, or None where the file is missing, unreadable or damaged: a cache is then made anew."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, atomically, creating its folder; raises ``UsageError`` when that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create {path.parent}: {_advice(error, path.parent.parent)}") from error
    write_atomic(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


def network_filesystem(path: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The type of the network file system that holds a path (``nfs4``, ``fuse.sshfs``, ...), or "" for a local one.

    Reads the kernel's table of mounts; where there is none (macOS), the answer is "".
    """
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    here = os.path.realpath(path)
    best, kind = "", ""
    for fields in (line.split(" ") for line in lines):
        point = _unescape(fields[1]) if len(fields) > 2 else ""
        inside = point and (here == point or here.startswith(point.rstrip("/") + "/"))
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind if kind in _NETWORK_TYPES else ""


def _unescape(mount_point: str) -> str:
    """Undo the octal escapes of /proc/mounts (``\\040`` is a space)."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        mount_point = mount_point.replace(code, character)
    return mount_point

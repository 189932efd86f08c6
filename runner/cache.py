"""Keep what was made, under the hash of what it was made from.

Entries are written whole or not at all, and carry a checksum: one that was cut short or damaged
counts as absent. Several processes may use one cache at the same time. A cache that cannot be
written is no reason to fail; the work is then done again next time.
"""

import hashlib
import os
import tempfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memstrat.runner.folders import user_folder

_MAGIC = b"memstrat-cache-1\n"
_CHECKSUM_BYTES = 32

_NOWHERE = Path(os.devnull, "memstrat")
"""A folder that cannot exist: nothing is kept."""


def default_cache_directory() -> Path:
    """`$XDG_CACHE_HOME/memstrat`, or `~/.cache/memstrat`; nowhere for a user without a home."""
    return user_folder("XDG_CACHE_HOME", ".cache") or _NOWHERE


@dataclass(frozen=True, kw_only=True)
class Cache:
    """Blobs by key in a folder, which is made when it is first written to.

    A key is the hexadecimal digest of everything that decides the blob. `kind` tells apart blobs of
    different make and is a folder's name.
    """

    directory: Path

    def get(self, kind: str, key: str) -> bytes | None:
        """The blob that was put under this key, or None where there is none or it is damaged."""
        try:
            entry = self._path(kind, key).read_bytes()
        except OSError:
            return None
        head = len(_MAGIC) + _CHECKSUM_BYTES
        checksum, packed = entry[len(_MAGIC) : head], entry[head:]
        if not entry.startswith(_MAGIC) or hashlib.sha256(packed).digest() != checksum:
            return None
        return zlib.decompress(packed)

    def put(self, kind: str, key: str, blob: bytes) -> None:
        """Keep `blob` under this key; readers see the whole entry or none."""
        packed = zlib.compress(blob, level=1)
        entry = _MAGIC + hashlib.sha256(packed).digest() + packed
        path = self._path(kind, key)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(entry)
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise

    def _path(self, kind: str, key: str) -> Path:
        return self.directory / kind / key[:2] / key[2:]

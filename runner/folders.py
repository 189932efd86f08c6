"""Where a user's own files lie, by the XDG base directory specification."""

import os
from pathlib import Path


def user_folder(variable: str, below_home: str) -> Path | None:
    """Memstrat's folder under `$variable`, else under `below_home` of the home directory.

    None for a user who has no home, as in some containers.
    """
    base = os.environ.get(variable)
    if base and Path(base).is_absolute():
        return Path(base) / "memstrat"
    try:
        return Path.home() / below_home / "memstrat"
    except RuntimeError:
        return None

"""Execute the notebooks and store their outputs, so that a code host shows them.

.venv/bin/python tools/execute_notebook.py [NOTEBOOK...]

Execution counts, times and versions are left out: the file changes only where an output does.
"""

import argparse
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 300


def executed(path: Path) -> Any:
    """The notebook in `path` with the outputs that it has now; the file stays as it is."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(
        notebook, timeout=TIMEOUT_S, kernel_name="python3", resources=resources
    ).execute()
    notebook.metadata = {  # no version of Python
        "kernelspec": notebook.metadata["kernelspec"],
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                if "execution_count" in output:
                    output["execution_count"] = None
    return notebook


def main() -> None:
    """Execute the notebooks that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path)
    for path in parser.parse_args().notebooks or sorted((ROOT / "notebooks").glob("*.ipynb")):
        nbformat.write(executed(path), path)
        print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()

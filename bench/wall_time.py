"""Where the wall time of a study goes: to compilers, to measured batches, or to memstrat itself.

    .venv/bin/python bench/wall_time.py [STUDY]

Runs the study into a new results folder with an empty cache, and looks at the processes below it
fifty times a second. An instant belongs to what is running then; where several run, they share it.
While the pack measures the instant is the pack's: nothing else is on the way to the end, and what
runs beside it, on another CPU, is memstrat reading its lines.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

INTERVAL_S = 0.02

COMPILERS = ("cc1", "gcc", "clang", "as", "cc", "collect2", "ld")
ANALYSER = "llvm-mca"
PACK = "pack"
MEASURING = f"{PACK} measure"


def classify(command: list[str]) -> str:
    """What a process is part of, by its command line."""
    name = Path(command[0]).name
    if name == PACK:
        return f"{PACK} {command[1]}" if len(command) > 1 else PACK
    if name.startswith(ANALYSER):
        return ANALYSER
    if name.startswith(COMPILERS):
        return "compilers and assembler"
    return "memstrat"


def below(root: int) -> Iterator[int]:
    """The process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (state := state_of(int(entry.name))) is not None:
            children.setdefault(state[1], []).append(int(entry.name))
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children.get(process, [])


def state_of(process: int) -> tuple[str, int] | None:
    """The state's letter and the parent of a process; None when it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1])


def running(root: int) -> list[str]:
    """The classes of the processes that have a CPU or wait for one."""
    found = []
    for process in below(root):
        state = state_of(process)
        if state is None or state[0] not in "RD":
            continue
        try:
            command = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if command[0]:
            found.append(classify(command))
    return found


def watch(command: list[str], environment: dict[str, str]) -> tuple[Counter[str], float]:
    """Run the command; seconds by class, and wall time."""
    seconds: Counter[str] = Counter()
    started = last = time.monotonic()
    process = subprocess.Popen(command, env=environment)
    while process.poll() is None:
        time.sleep(INTERVAL_S)
        classes = running(process.pid) or ["nothing runs"]
        if MEASURING in classes:
            classes = [MEASURING]
        now = time.monotonic()
        for each in classes:
            seconds[each] += (now - last) / len(classes)
        last = now
    if process.returncode != 0:
        sys.exit(process.returncode)
    return seconds, time.monotonic() - started


def main() -> None:
    """Watch one run and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", nargs="?", default="studies/rep-vs-unrolled.toml")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
        command = [
            *(sys.executable, "-m", "memstrat", "run", arguments.study),
            *("--quiet", "--results", f"{folder}/results"),
        ]
        seconds, wall = watch(command, environment)
    print(f"{arguments.study}: {wall:.1f} s of wall time")
    for name, value in seconds.most_common():
        print(f"  {name:<24} {value:6.1f} s  {100 * value / wall:5.1f} %")
    work = seconds["compilers and assembler"] + seconds[MEASURING]
    print(f"compilers and measured batches: {100 * work / wall:.1f} % (target: at least 80 %)")


if __name__ == "__main__":
    main()

"""The interpreter's path against that of this CPU, one instruction at a time (ptrace)."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import pytest

from memstrat.model import Code, Fill, Isa, Kernel, Op
from memstrat.runner.inspect.decode import decode
from memstrat.runner.inspect.objects import extract_codes
from memstrat.runner.inspect.trace import trace

pytestmark = [pytest.mark.native, pytest.mark.compilers]

CompileKernels = Callable[[str, Sequence[str], Sequence[Kernel]], bytes]

NOT_PERMITTED = 77

# Prints the offset of every instruction that the code in the file executes. The destination is
# aligned to a page, and the source lies above it, as `memstrat.runner.inspect.trace` has it.
STEPPER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

enum { CODE_BYTES = 1 << 20, DATA_BYTES = 1 << 22, NOT_PERMITTED = 77 };

static void *map(size_t length, int protection)
{
    void *at = mmap(NULL, length, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(NOT_PERMITTED);
    return at;
}

int main(int count, char **arguments)
{
    unsigned char *code = map(CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC);
    unsigned char *data = map(DATA_BYTES, PROT_READ | PROT_WRITE);
    FILE *file = fopen(arguments[count - 1], "rb");
    size_t length = fread(code, 1, CODE_BYTES, file);
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(NOT_PERMITTED);
        raise(SIGSTOP);
        ((void (*)(void *, void *))(void *)code)(data, data + DATA_BYTES / 2);
        _exit(0);
    }
    int entered = 0;
    for (;;) {
        int status;
        waitpid(child, &status, 0);
        if (!WIFSTOPPED(status))
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        struct user_regs_struct registers;
        ptrace(PTRACE_GETREGS, child, NULL, &registers);
        unsigned long long offset = registers.rip - (unsigned long long)code;
        if (offset < length) {
            entered = 1;
            printf("%llu\n", offset);
        } else if (entered) {
            break;
        }
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0)
            return NOT_PERMITTED;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
"""

SIZES = (1, 3, 17, 40, 41, 63, 64, 100, 168, 255, 300)


def kernels(alignment: int, *, ops: tuple[Op, ...] = (Op.MEMSET, Op.MEMCPY)) -> list[Kernel]:
    return [
        Kernel(op=op, fill=Fill.ZERO if op is Op.MEMSET else None, size=size, alignment=alignment)
        for op in ops
        for size in SIZES
    ]


@pytest.fixture(scope="module")
def stepper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for this host is installed")
    program = tmp_path_factory.mktemp("stepper") / "stepper"
    command = [compiler, "-O1", "-x", "c", "-", "-o", str(program)]
    subprocess.run(command, input=STEPPER.encode(), check=True)
    return program


def stepped(stepper: Path, code: Code, directory: Path) -> list[int]:
    """The indices of the instructions that this CPU executes; a `rep` stands once."""
    file = directory / "code.bin"
    file.write_bytes(code.text)
    done = subprocess.run([stepper, file], capture_output=True, text=True, check=False)
    if done.returncode == NOT_PERMITTED:
        pytest.skip("ptrace is not permitted here")
    assert done.returncode == 0, done.stderr
    index_at = decode(code.text).index_at
    return [index_at[int(offset)] for offset, _ in groupby(done.stdout.split())]


@pytest.mark.parametrize(
    ("compiler", "flags", "alignment"),
    [
        ("gcc", "-O2 -mgeneral-regs-only -mstringop-strategy=byte_loop", 8),
        ("gcc", "-O2 -mgeneral-regs-only -mstringop-strategy=loop", 8),
        ("gcc", "-O2 -mgeneral-regs-only -mstringop-strategy=unrolled_loop", 8),
        ("gcc", "-O2 -mgeneral-regs-only -mstringop-strategy=unrolled_loop", 1),
        ("gcc", "-O2 -mstringop-strategy=vector_loop", 4),
        ("gcc", "-O2 -mstringop-strategy=vector_loop", 1),
        ("gcc", "-O2 -mgeneral-regs-only -mstringop-strategy=rep_8byte", 1),
        ("gcc", "-Os -fcf-protection", 8),
        ("gcc-11", "-O1 -mstringop-strategy=unrolled_loop", 2),
        ("clang", "-O2 -mgeneral-regs-only", 8),
        ("clang-22", "-Oz", 8),
    ],
)
def test_the_path_is_the_one_that_the_cpu_takes(
    compile_kernels: CompileKernels,
    stepper: Path,
    tmp_path: Path,
    compiler: str,
    flags: str,
    alignment: int,
) -> None:
    wanted = kernels(alignment)
    codes = extract_codes(compile_kernels(compiler, flags.split(), wanted), wanted)
    compared = set()
    for kernel in wanted:
        code = codes[kernel.name]
        assert isinstance(code, Code), code
        if code.relocations or not Isa.SSE2.includes(code.isa) or code.digest in compared:
            continue
        found = trace(code, kernel)
        assert found.undecided == ""
        collapsed = [index for index, _ in groupby(found.path)]
        assert collapsed == stepped(stepper, code, tmp_path), kernel.name
        compared.add(code.digest)
    assert len(compared) > len(wanted) // 3

"""Does this clang obey `-mllvm -max-store-memset=N`? Asked by effect: acceptance says nothing.

clang 14 to 21 take the option, because LLVM's Hexagon part has one of the same name, and emit the
same x86 code for every N.
"""

from dataclasses import asdict

from memstrat.model import Op, Toolchain, Variant, digest_of
from memstrat.runner.cache import Cache
from memstrat.runner.processes import failure_text, run_process

_FEW, _MANY = 4, 64
"""Two limits between which 256 bytes in 16-byte stores must change from a call to stores."""

_SOURCE = """\
void probe_memset(void *d) { __builtin_memset(d, 0, 256); }
void probe_memcpy(void *d, const void *s) { __builtin_memcpy(d, s, 256); }
void probe_memmove(void *d, const void *s) { __builtin_memmove(d, s, 256); }
"""

_OBEYED, _IGNORED = b"obeyed", b"ignored"


def ignored_limits(variant: Variant, *, cache: Cache, timeout_s: float) -> str | None:
    """Why the store limits of the variant's strategy mean nothing to its clang; None where they do.

    A clang that fails to answer is told by what it said, and asked again next time.
    """
    limits = variant.strategy.limits
    if limits is None:
        return None
    toolchain = variant.toolchain
    for name, stores in asdict(limits).items():
        if stores is None:
            continue
        answer = _obeys(toolchain, Op(name), cache, timeout_s)
        if isinstance(answer, str):
            return f"{toolchain.name} does not take -mllvm {_option(Op(name))}=N: {answer}"
        if not answer:
            return (
                f"-mllvm {_option(Op(name))}={stores} is accepted and ignored by "
                f"{toolchain.vendor} {toolchain.version}: it emits the same code for {_FEW} and "
                f"{_MANY}; clang 22 is the first that obeys it"
            )
    return None


def _option(op: Op) -> str:
    return f"-max-store-{op}"


def _obeys(toolchain: Toolchain, op: Op, cache: Cache, timeout_s: float) -> bool | str:
    """Whether the limit changes the code, or what the compiler said instead of compiling."""
    key = digest_of({"probe": _option(op), "toolchain": toolchain.digest, "source": _SOURCE})
    kept = cache.get("probe", key)
    if kept in (_OBEYED, _IGNORED):
        return kept == _OBEYED
    texts = []
    for stores in (_FEW, _MANY):
        done = run_process(
            (
                *toolchain.command,
                *("-O2", "-mllvm", f"{_option(op)}={stores}"),
                *("-x", "c", "-", "-S", "-o", "-"),
            ),
            stdin=_SOURCE.encode(),
            timeout_s=timeout_s,
        )
        if not done.succeeded:
            return failure_text(done, lines=4)
        texts.append(done.stdout)
    obeyed = texts[0] != texts[1]
    cache.put("probe", key, _OBEYED if obeyed else _IGNORED)
    return obeyed

"""Which flags a study may ask for, and which a variant is compiled with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrat.errors import FlagError
from memstrat.generators.flags import check_flags, flags_refusal, variant_flags
from memstrat.generators.strategy import parse_stringop_strategy
from memstrat.model import (
    Isa,
    Optimisation,
    StoreLimits,
    Strategy,
    Target,
    Toolchain,
    Variant,
    Vendor,
)

DANGEROUS = """
-fplugin=evil.so|-fplugin-arg-evil-x=1|-wrapper|-wrapper sh,-c,true|@file|-B.|-B /opt|-specs=evil
--specs=evil|-o|-o x|-ox|-include|-include /etc/passwd|-imacros x|-I.|-I /x|-isystem /x|-iquote /x
-idirafter /x|-iprefix x|-isysroot /x|-L.|-lm|-l m|-x|-x assembler|-xc|-fuse-ld=evil|-Wl,-o,x
-Wa,-a=x|-Wp,-MD,x|-Xassembler|-Xlinker -o|-Xpreprocessor -MD|-fprofile-use=x|-fprofile-use
-fprofile-generate|-fprofile-dir=x|-fprofile-instr-generate=x|--coverage|-ftest-coverage
-fdump-tree-all|-fdump-rtl-expand=x|-fdump-ipa-all|-dumpbase x|-dumpdir x|-dumpfullversion
-save-temps|-save-temps=obj|--save-temps|-aux-info x|--sysroot=/x|--sysroot|-fauto-profile=x
-MD|-MF x|-M|-MMD|-MQ x|-fsanitize=address|-fsanitize-blacklist=x|-fsanitize-ignorelist=x|-flto
-flto=auto|-flto-partition=none|-pg|-S|-c|-E|-###|-v|--version|--help|-fsyntax-only
-Xclang -load -Xclang evil.so|-Xclang -load|-Xclang|-Xclang -plugin|-fpass-plugin=evil.so
-mllvm --load=evil.so|-mllvm -load=evil.so|-mllvm -pass-remarks-output=x|-mllvm|-ivfsoverlay x
-fmodule-map-file=x|-fmodules|-fmodules-cache-path=x|--config=x|--config x|--gcc-toolchain=/x
-gcc-toolchain|--gcc-install-dir=/x|-resource-dir x|-resource-dir=x|-fstack-usage
-fcallgraph-info|-fopt-info=x|-fopt-info-all=x|-fsave-optimization-record|-ftime-trace=x
-foptimization-record-file=x|-fcrash-diagnostics-dir=x|-fproc-stat-report=x|-fdiagnostics-file=x
-fembed-bitcode|-gsplit-dwarf|-g|-no-integrated-as|-fno-integrated-as|-fintegrated-as
-fdebug-prefix-map=a=b|-ffile-prefix-map=a=b|-frandom-seed=x|-frecord-gcc-switches|-ftime-report
-mdump-tune-features|-m32|-mx32|-m16|-mabi=ms|-mcmodel=large|-masm=intel|-mfentry|-mrecord-mcount
-mfunction-return=thunk|-mindirect-branch=thunk|-mharden-sls=all|-fpic|-fPIC|-fno-pie|-fPIE
-fcf-protection=full|-fstack-protector-strong|-finstrument-functions|-ffunction-sections
-fdata-sections|-ffixed-rcx|-D_FORTIFY_SOURCE=2|-DX=1|-UX|-std=gnu2x|-ansi|-target x|--target=arm
-march=native|-mtune=native|-O3|-Ofast|-O|-mavx512f|-msse4|-mmemset-strategy=loop:-1:align
-mmemcpy-strategy=loop:-1:align|-mllvm -max-store-memset=1|-nostdinc|-nostdlib|-pipe|-static|-w
-Wall|-Werror|-iplugindir=x|-print-prog-name=as|-dM|-dD|-fpch-preprocess|-fworking-directory|-|--
a.c|/etc/passwd|evil.s|-fno-builtin=/x|-mtune-ctrl=a/b|-mtune-ctrl=@x|-mtune-ctrl=
-Xclang -target-feature|-Xclang -target-feature -Xclang|-Xclang -target-feature -Xclang +avx512f
-fno-plt|-Xclang -target-feature -load +ermsb|-mstringop-strategy=no_stringop|-mmove-max=1024
-fasynchronous-unwind-tables /x
"""

HARMLESS = [
    ["-fno-builtin"],
    ["-fno-builtin-memset", "-ffreestanding"],
    ["-fno-tree-loop-distribute-patterns"],
    ["-mno-sse"],
    ["-mno-avx512vl"],
    ["-mstringop-strategy=unrolled_loop"],
    ["-minline-all-stringops"],
    ["-mno-align-stringops"],
    ["-finline-stringops=memset,memcpy"],
    ["-mtune-ctrl=prefer_known_rep_movsb_stosb,^avx256_move_by_pieces"],
    ["-mmove-max=256", "-mstore-max=256"],
    ["-mprefer-vector-width=256"],
    ["-mllvm", "-x86-use-fsrm-for-memcpy", "-mno-red-zone"],
    ["-Xclang", "-target-feature", "-Xclang", "+ermsb"],
    [],
]

GCC = Toolchain(
    name="gcc", command=("gcc",), vendor=Vendor.GCC, version="12.2.0", target="x", digest="d"
)
CLANG = Toolchain(
    name="clang", command=("clang",), vendor=Vendor.CLANG, version="22.1", target="x", digest="e"
)


def dangerous_flags() -> list[str]:
    return [flag for line in DANGEROUS.strip().splitlines() for flag in line.split("|")]


@pytest.mark.parametrize("flag", dangerous_flags())
def test_a_flag_that_runs_reads_writes_or_breaks_inspection_is_refused(flag: str) -> None:
    assert flags_refusal(flag.split(" ")) is not None
    assert flags_refusal([flag]) is not None
    assert flags_refusal(["-mno-sse", *flag.split(" ")]) is not None


@pytest.mark.parametrize("flags", HARMLESS, ids=" ".join)
def test_a_flag_that_only_changes_the_lowering_is_accepted(flags: list[str]) -> None:
    check_flags(flags, where="here")


@given(st.text())
def test_no_flag_with_a_path_a_response_file_or_white_space_is_accepted(text: str) -> None:
    for flag in (text, "-f" + text, "-m" + text, "-mtune-ctrl=" + text, "-mno-" + text):
        if set(flag) & set("/@\\ \t\n\r\0;$`'\"~*?<>&()"):
            assert flags_refusal([flag]) is not None


@given(
    st.sampled_from([flag for flags in HARMLESS for flag in flags]), st.sampled_from("\n\0 \u2028")
)
def test_nothing_hides_behind_the_end_of_an_accepted_flag(flag: str, end: str) -> None:
    assert flags_refusal([flag + end]) is not None
    assert flags_refusal([end + flag]) is not None


@given(st.lists(st.sampled_from([*dangerous_flags(), "-mno-sse", "-mllvm", "-Xclang"]), max_size=4))
def test_accepted_lists_hold_no_dangerous_flag(flags: list[str]) -> None:
    if flags_refusal(flags) is None:
        assert set(flags) <= {"-mno-sse"}


def test_the_refusal_names_the_place_the_flag_and_what_is_right() -> None:
    with pytest.raises(FlagError, match=r"flags: the flag '-march=native' is refused here.*target"):
        check_flags(["-march=native"], where="flags")
    with pytest.raises(FlagError, match=r"'-fplugin=x.so'.*your own configuration"):
        check_flags(["-fplugin=x.so"], where="flags")
    with pytest.raises(FlagError, match=r"'-mllvm -max-store-memset=1'.*`limits`"):
        check_flags(["-mllvm", "-max-store-memset=1"], where="flags")


def test_a_refusal_stays_on_one_readable_line() -> None:
    refusal = flags_refusal(["-f" + "\n\x1b[31m" * 1000])
    assert refusal is not None
    assert len(refusal) < 500
    assert refusal.isprintable()


def flags_of(
    toolchain: Toolchain = GCC,
    isa: Isa = Isa.SSE2,
    march: str | None = None,
    mtune: str | None = None,
    strategy: Strategy | None = None,
    extra: tuple[str, ...] = (),
) -> tuple[str, ...]:
    return variant_flags(
        Variant(
            toolchain=toolchain,
            optimisation=Optimisation.O2,
            target=Target(isa=isa, march=march, mtune=mtune),
            strategy=strategy or Strategy(name="default"),
            extra_flags=extra,
        )
    )


@pytest.mark.parametrize(
    ("isa", "march", "flag"),
    [
        (Isa.GPR, "x86-64", "-mgeneral-regs-only"),
        (Isa.SSE2, "x86-64", "-mno-avx"),
        (Isa.AVX2, "x86-64-v3", "-mno-avx512f"),
        (Isa.AVX512, "x86-64-v4", "-mprefer-vector-width=512"),
    ],
)
def test_an_isa_decides_the_default_march_and_keeps_any_other_to_itself(
    isa: Isa, march: str, flag: str
) -> None:
    assert f"-march={march}" in flags_of(isa=isa)
    assert flag in flags_of(isa=isa)
    assert {"-march=znver4", "-mtune=generic", flag} <= set(
        flags_of(isa=isa, march="znver4", mtune="generic")
    )


def test_a_strategy_becomes_the_flags_that_ask_for_it() -> None:
    unrolled = parse_stringop_strategy("unrolled_loop:256:noalign,libcall:-1:noalign")
    strategy = Strategy(name="s", memset=unrolled, memcpy=unrolled, flags=("-mno-red-zone",))
    assert flags_of(strategy=strategy, extra=("-fno-builtin",))[-4:] == (
        "-mmemset-strategy=unrolled_loop:256:noalign,libcall:-1:noalign",
        "-mmemcpy-strategy=unrolled_loop:256:noalign,libcall:-1:noalign",
        "-mno-red-zone",
        "-fno-builtin",
    )


def test_store_limits_become_llvm_options() -> None:
    strategy = Strategy(name="s", limits=StoreLimits(memset=64, memmove=2))
    assert flags_of(CLANG, strategy=strategy)[-4:] == (
        "-mllvm",
        "-max-store-memset=64",
        "-mllvm",
        "-max-store-memmove=2",
    )


def test_only_gcc_is_told_to_keep_identical_kernels_apart() -> None:
    assert "-fno-ipa-icf" in flags_of(GCC)
    assert "-fno-ipa-icf" not in flags_of(CLANG)

"""`memstrat inspect`: what compilers emit, and where the emitted form changes. Nothing is run."""

from typing import Annotated

import typer


def _words(texts: list[str]) -> list[str]:
    """Comma-separated lists and repeated options alike: `--op memset,memcpy --op memmove`."""
    return [word for text in texts for word in text.split(",") if word]


def inspect(
    toolchains: Annotated[
        list[str],
        typer.Argument(help="Compilers: gcc, gcc-12, clang-22, clang-newest, or one of your own."),
    ],
    sizes: Annotated[
        str, typer.Option("--sizes", help="Sizes in bytes: 168, 8:512:8, and lists of these.")
    ] = "8:512:8",
    op: Annotated[
        list[str] | None, typer.Option("--op", help="memset, memcpy, memmove.", show_default="all")
    ] = None,
    fill: Annotated[
        list[str] | None, typer.Option("--fill", help="zero, constant, variable.")
    ] = None,
    isa: Annotated[
        list[str] | None,
        typer.Option("--isa", help="gpr, sse2, avx2, avx512.", show_default="sse2"),
    ] = None,
    alignment: Annotated[
        list[int] | None, typer.Option("--alignment", help="Bytes known of the pointers.")
    ] = None,
    spelling: Annotated[
        list[str] | None, typer.Option("--spelling", help="pointer, struct.")
    ] = None,
    optimisation: Annotated[list[str] | None, typer.Option("-O", help="1, 2, 3, s, z.")] = None,
    march: Annotated[str | None, typer.Option("--march", help="As for the compiler.")] = None,
    mtune: Annotated[str | None, typer.Option("--mtune", help="As for the compiler.")] = None,
    memset_strategy: Annotated[
        str | None, typer.Option("--memset-strategy", help="GCC's: libcall:-1:noalign, ...")
    ] = None,
    memcpy_strategy: Annotated[
        str | None, typer.Option("--memcpy-strategy", help="GCC's, for memcpy.")
    ] = None,
    max_stores: Annotated[
        int | None, typer.Option("--max-stores", help="clang's store limit, for all ops.")
    ] = None,
    flag: Annotated[
        list[str] | None, typer.Option("--flag", help="One more flag: --flag=-mno-red-zone.")
    ] = None,
    toolchain: Annotated[
        list[str] | None,
        typer.Option("--toolchain", metavar="NAME=COMMAND", help="What a name means."),
    ] = None,
    assembly: Annotated[
        bool, typer.Option("--assembly", help="Print the machine code of every kernel, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the ranges as JSON.")] = False,
) -> None:
    """Print at which sizes the emitted form changes, decoded from the machine code.

    memstrat inspect --sizes 8:512:8 --op memset,memcpy --isa sse2,gpr gcc
    """
    from memstrat.cli.inspection import Question, answer, print_answer

    question = Question(
        toolchains=tuple(toolchains),
        sizes=sizes,
        ops=tuple(_words(op or ["memset,memcpy,memmove"])),
        fills=tuple(_words(fill or ["zero"])),
        isas=tuple(_words(isa or ["sse2"])),
        alignments=tuple(alignment or [8]),
        spellings=tuple(_words(spelling or ["pointer"])),
        optimisations=tuple(f"O{level.removeprefix('O')}" for level in optimisation or ["2"]),
        march=march,
        mtune=mtune,
        memset_strategy=memset_strategy,
        memcpy_strategy=memcpy_strategy,
        max_stores=max_stores,
        flags=tuple(flag or ()),
        commands=tuple(toolchain or ()),
    )
    print_answer(answer(question), assembly=assembly, as_json=as_json)

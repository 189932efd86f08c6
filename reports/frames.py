"""The tables of a results folder, joined into the frames that the reports read.

Frames are tidy and have plain columns. A copy's `fill` is the empty string here, so that grouping
needs no special case; sizes are bytes, times are core cycles per call.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from memstrat.model import Scenario, Vendor
from memstrat.reports.palette import ORDER, contender_label
from memstrat.runner.tables import TABLES

CELL = ["op", "fill", "size"]
PAGE = ["op", "fill", "alignment"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Results:
    """What a run left behind: its tables as frames, and what the reports derive from them.

    `tables` maps each name of `runner.tables` to its frame; a missing table counts as empty. One
    machine and one scenario are read: by default the machine with the most samples.
    """

    tables: Mapping[str, pd.DataFrame]
    study: str = ""
    title: str = ""
    command: str = "memstrat run STUDY.toml"
    scenario: str = Scenario.HOT.value

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{len(self.tables.get(table.name, ()))} {table.name}" for table in TABLES
        )
        return f"<results of {self.study or 'a study'}: {counts}>"

    def table(self, name: str) -> pd.DataFrame:
        """One table, with its columns even when it has no row."""
        columns = next([c.name for c in t.columns] for t in TABLES if t.name == name)
        frame = self.tables.get(name)
        if frame is None or frame.empty:
            return pd.DataFrame(columns=columns)
        if "fill" not in frame:
            return frame
        fill = frame["fill"]
        return frame.assign(fill=fill.astype(object).where(fill.notna(), ""))

    @cached_property
    def machine(self) -> dict[str, Any]:
        """The machine that is reported on, column to value; empty where nothing was measured."""
        machines, samples = self.table("machine"), self.table("samples")
        if machines.empty:
            return {}
        if not samples.empty:
            busiest = samples["machine"].value_counts().index[0]
            machines = machines[machines["machine"] == busiest]
        return {} if machines.empty else {str(k): v for k, v in machines.iloc[-1].items()}

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Table `samples` of that machine in that scenario, of the processes that count.

        Those are the cell's settled ones, over which the estimates are.
        """
        keys = [*CELL, "code", "twin", "process"]
        samples = self._measured("samples").drop_duplicates(keys, keep="last")
        settled = self.estimates[[*CELL, "settled"]].explode("settled").drop_duplicates()
        settled = settled.rename(columns={"settled": "process"}).dropna(subset=["process"])
        return samples.merge(settled.astype({"process": "int64"}), on=[*CELL, "process"])

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """Table `estimates` of that machine in that scenario."""
        return self._measured("estimates").drop_duplicates([*CELL, "code"], keep="last")

    def _measured(self, name: str) -> pd.DataFrame:
        frame = self.table(name)
        if frame.empty:
            return frame
        wanted = (frame["machine"] == self.machine.get("machine")) & (
            frame["scenario"] == self.scenario
        )
        return frame[wanted]

    @cached_property
    def emitted(self) -> pd.DataFrame:
        """One row per lowering, with its kernel, its variant and its `contender`."""
        kernels = self.table("kernels").drop(columns="work").drop_duplicates("kernel")
        variants = self.table("variants").drop(columns="work").drop_duplicates("variant")
        lowerings = self.table("lowerings").drop(columns="work")
        joined = (
            lowerings.drop_duplicates(["variant", "kernel"], keep="last")
            .merge(kernels, on="kernel")
            .merge(variants, on="variant")
        )
        shapes = zip(joined["form"], joined["widest_store"], joined["op"], strict=True)
        joined["contender"] = pd.Series(
            [contender_label(form, int(width), op) for form, width, op in shapes], dtype=object
        )
        return joined.sort_values(
            [*PAGE, "size", "label", "spelling"], kind="stable", ignore_index=True
        )

    @cached_property
    def representatives(self) -> pd.DataFrame:
        """The code that stands for each contender in each cell, with its `label` and `code_bytes`.

        A form written by hand stands for its contender wherever it was measured, so that a curve is
        one piece of code from end to end. Where none exists (loops, calls), the fastest code that a
        compiler emitted does: the question is what the form can do.
        """
        samples = self.samples
        columns = [*PAGE, "size", "contender"]
        if samples.empty:
            return pd.DataFrame(columns=[*columns, "code", "code_bytes", "label"])
        typical = samples[~samples["twin"].astype(bool)].groupby([*CELL, "code"])["cycles"].median()
        candidates = self.emitted.merge(typical.reset_index(), on=[*CELL, "code"])
        candidates["by_compiler"] = candidates["vendor"] != Vendor.REFERENCE.value
        ranked = candidates.sort_values([*columns, "by_compiler", "cycles", "code", "label"])
        chosen = ranked.drop_duplicates(columns)
        return chosen[[*columns, "code", "code_bytes", "label"]].reset_index(drop=True)

    @cached_property
    def pages(self) -> list[tuple[str, str, int]]:
        """What is reported apart: (op, fill, alignment), memset before copies."""
        found = self.emitted[PAGE].drop_duplicates()
        rows = [
            (str(op), str(fill), int(alignment))
            for op, fill, alignment in found.itertuples(index=False)
        ]
        return sorted(
            rows, key=lambda row: (row[0] != "memset", row[0], row[1] != "zero", row[1], row[2])
        )


def rows_of(frame: pd.DataFrame) -> Iterator[Any]:
    """The rows as named tuples, whose attributes are the columns."""
    return iter(frame.itertuples(index=False))


def on_page(frame: pd.DataFrame, page: tuple[str, str, int]) -> pd.DataFrame:
    """The rows of one (op, fill, alignment)."""
    op, fill, alignment = page
    return frame[(frame["op"] == op) & (frame["fill"] == fill) & (frame["alignment"] == alignment)]


def in_order(labels: Iterable[object]) -> list[str]:
    """Contender labels in the one order of every page, each once."""
    return sorted({str(label) for label in labels}, key=ORDER.__getitem__)

"""Whatever is written, pruned, erased, killed and put back, in whatever order: every log is whole afterwards."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from itertools import count
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from node import epochs
from node.config import TimelineConfig
from node.core.note import TreeHead
from node.core.retention import DAY_US
from node.ports_timeline import Erasure
from tests.integration.mesh import NODE
from tests.retention_stage import Clocks, Stage, opened

T = TypeVar("T")

KEEP = TimelineConfig(keep_days=90, keep_bytes=150_000, keep_texts_days=30)
FIELDS = st.sampled_from(("title", "preview", "name"))


class Keeping(RuleBasedStateMachine):
    """One machine's timeline over starts, kills and restored copies; `seen` is what was signed last."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="helio-keeping-"))
        self.clocks = Clocks()
        self.runner = asyncio.Runner()
        self.runs = count(1)
        self.seen: tuple[TreeHead, ...] = ()
        self.copied: Path | None = None
        self.stage = self._run(self._open(self._place()))
        self.write(600, {"title"}, "aa")

    def _run(self, work: Coroutine[object, object, T]) -> T:
        return self.runner.run(work)

    def _place(self) -> Path:
        folder = self.folder / str(next(self.runs))
        folder.mkdir()
        return folder

    async def _open(self, folder: Path) -> Stage:
        origin = epochs.first_origin(NODE, self.seen)
        stage = await opened(folder / "node.db", self.clocks, KEEP, origin=origin)
        await epochs.begin(stage.store, NODE, self.seen, folder / "timeline.seen")
        return stage

    async def _sign(self) -> None:
        head = await self.stage.store.read(lambda reader: reader.head())
        await self.stage.sign()
        self.seen = (TreeHead(origin=head.origin, size=head.size, root=head.root),)

    @rule(rows=st.sampled_from((1, 100, 255, 256, 300)), fields=st.sets(FIELDS), words=st.text("ab", max_size=30))
    def write(self, rows: int, fields: set[str], words: str) -> None:
        self._run(self.stage.write(rows, texts=[(field, words) for field in sorted(fields)]))

    @rule(days=st.sampled_from((1, 50, 91)))
    def days_pass(self, days: int) -> None:
        self.clocks.pass_asleep(days * DAY_US)

    @rule(days=st.sampled_from((0, 1, 91)))
    def the_machine_starts_anew(self, days: int) -> None:
        self.clocks.boots(f"boot-{next(self.runs)}", off_us=days * DAY_US)

    @rule(days=st.sampled_from((-200, 91, 1_000)))
    def the_clock_is_set_wrong_and_right_again(self, days: int) -> None:
        # Without a row of the right time in this boot, two such boots would bear each other out: that is the limit.
        self._run(self.stage.write(1))
        before = self._run(self.stage.store.read(lambda reader: reader.logs()))
        self.clocks.wall_us += days * DAY_US
        self._run(self.stage.write(1))
        doubted = all(step.doubt for step in self._run(self.stage.prune()) if step.range.why == "age")
        self.clocks.wall_us -= days * DAY_US
        after = self._run(self.stage.store.read(lambda reader: reader.logs()))
        assert doubted or [log.first for log in before] == [log.first for log in after]

    @rule()
    def sign(self) -> None:
        self._run(self._sign())

    @rule(steps=st.integers(0, 4))
    def prune_and_be_stopped(self, steps: int) -> None:
        async def some() -> None:
            ranges = self.stage.retention.prune(dry_run=False, by_person=False)
            for _ in range(steps):
                if await anext(ranges, None) is None:
                    return
            await ranges.aclose()

        self._run(some())

    @rule()
    def tend(self) -> None:
        self._run(self.stage.retention.tend())
        self._run(self.stage.erasures.tend())

    @rule(field=FIELDS, age=st.sampled_from((0, 31)))
    def erase(self, field: str, age: int) -> None:
        async def all_of_it() -> None:
            before_us = self.clocks.wall_us - age * DAY_US if age else 0
            async for _ in self.stage.erasures.erase(Erasure(field=field, before_us=before_us), dry_run=False):
                pass

        self._run(all_of_it())

    @rule()
    def stop_and_start(self) -> None:
        self._run(self.stage.store.close())
        self.stage = self._run(self._open(self.stage.path.parent))

    @rule()
    def be_killed(self) -> None:
        """What is on the disk at that moment is what the next run finds."""
        folder = self._copy()
        self._run(self.stage.store.close())
        self.stage = self._run(self._open(folder))

    @rule()
    def copy(self) -> None:
        self.copied = self._copy()

    @precondition(lambda self: self.copied is not None)
    @rule()
    def put_the_copy_back(self) -> None:
        assert self.copied is not None
        self._run(self.stage.store.close())
        self.stage, self.copied = self._run(self._open(self.copied)), None

    def _copy(self) -> Path:
        folder = self._place()
        for file in self.stage.path.parent.glob("node.db*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, folder / file.name)
        return folder

    @invariant()
    def every_log_is_whole(self) -> None:
        self._run(self.stage.check())

    @invariant()
    def no_log_that_was_signed_is_shorter_or_other_unless_the_next_says_so(self) -> None:
        logs = self._run(self.stage.store.read(lambda reader: reader.logs()))
        for head in self.seen:
            here = [log for log in logs if log.origin == head.origin]
            told = self._run(self.stage.store.read(lambda reader: epochs.told(reader, self.clocks.wall_us)))
            assert (here and here[0].size >= head.size) or logs[-1].origin != head.origin or told

    def teardown(self) -> None:
        self._run(self.stage.store.close())
        self.runner.close()
        shutil.rmtree(self.folder)


TestKeeping = Keeping.TestCase
# A failure is seldom made smaller in less than minutes, for every step is a node's.
TestKeeping.settings = settings(
    max_examples=8,
    stateful_step_count=15,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck),
)

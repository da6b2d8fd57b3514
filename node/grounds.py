"""Where delegates work: worktrees and branches of their own, their state, and merging them with a person's approval."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from node.core import policy
from node.core.approval import ApprovalKind
from node.core.commands import TreeView
from node.core.errors import ErrorCode, MeshError
from node.core.ids import short
from node.core.limits import Limits
from node.core.model import Address, End, Kind, Session
from node.core.row_codes import RowDecision, RowEngine
from node.core.secret_names import check_name
from node.core.verdict import Field
from node.ledger import Ledger
from node.ports import Reader, Screener, Store, Tx
from node.ports_work import Approvals, Ground, MergeResult, Trees, Worktree, WorktreeStatus

_log = logging.getLogger(__name__)

# What stands where git has a name that the screen withholds. Whoever works in a worktree chooses names as they like.
WITHHELD_NAME = "(a name that the screen withholds)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A worktree and whose it is."""

    session: Session
    tree: Worktree


class Grounds:
    """Implements ports.Grounds, and the tools for worktrees."""

    def __init__(
        self, *, store: Store, screener: Screener, trees: Trees, approvals: Approvals, ledger: Ledger, limits: Limits
    ) -> None:
        self._store = store
        self._screener = screener
        self._trees = trees
        self._approvals = approvals
        self._ledger = ledger
        self._limits = limits

    async def check(self, folder: str, *, wanted: bool | None, session: str) -> bool:
        """Whether a worktree is to be made, for what `session` delegates; WRONG_STATE says why it cannot be."""
        if wanted is False:
            return False
        async with self._speaking(session):
            return await self._fits(folder, wanted=wanted is not None)

    async def _fits(self, folder: str, *, wanted: bool) -> bool:
        state = await self._trees.inspect(Path(folder))
        if not state.inside_git or state.root is None:
            if not wanted and not state.inside_git:
                return False
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"{folder} is not the working tree of a git repository, so no worktree can be made. Set worktree to "
                "false, or delegate from inside a repository.",
            )
        # They are kept, and the person is asked with them.
        check_name("path of the repository or the name of its branch", str(state.root), state.branch or "")
        if state.unborn:
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"The git repository at {state.root} has no commit yet, so there is nothing to branch from. Make a "
                "first commit, or set worktree to false.",
            )
        return True

    async def prepare(self, folder: str, *, name: str, session: str) -> Ground:
        """A worktree for a session; one that was made before is used again."""
        known = await self._store.read(lambda reader: reader.tree(session))
        async with self._speaking(session):
            tree = known or await self._trees.create(Path(folder), name=name, session=session)
        if known is None:
            await self._store.write(lambda tx: self._made(tx, session, tree))
        return Ground(folder=str(tree.folder), branch=tree.branch)

    async def clear(self, session: str) -> None:
        """Removes the worktree and the branch of a session that could not be started, unless there is work in it."""
        tree = await self._store.read(lambda reader: reader.tree(session))
        if tree is None:
            return
        try:
            await self._trees.remove(tree, keep_branch=False)
        except MeshError as error:
            _log.warning("the worktree of session %s stays: %s", session, error.message)
            return
        await self._store.write(lambda tx: self._ledger.event_row(tx, RowEngine.WORKTREE, RowDecision.REMOVED, session))

    def _made(self, tx: Tx, session: str, tree: Worktree) -> None:
        tx.put_tree(session, tree)
        self._ledger.event_row(tx, RowEngine.WORKTREE, RowDecision.CREATED, session)

    async def create(self, actor: Address, name: str) -> TreeView:
        """A worktree for the calling session itself, beside the folder it works in."""
        session = await self._session(actor)
        check_name("name of the worktree", name)
        async with self._speaking(session.id):
            known = await self._store.read(lambda reader: reader.tree(session.id))
            if known is not None and (await self._trees.status(known)).exists:
                raise MeshError(
                    ErrorCode.ALREADY_EXISTS,
                    f"You have a worktree already: branch {known.branch} at {known.folder}. Work there.",
                    {"branch": known.branch},
                )
            await self._fits(session.cwd, wanted=True)
            wanted = name or session.nickname or session.title
            tree = await self._trees.create(Path(session.cwd), name=wanted, session=session.id)
        await self._store.write(lambda tx: self._made(tx, session.id, tree))
        view = TreeView(session=session.label, branch=tree.branch, folder=str(tree.folder), notes=tree.notes)
        return await self._readable(view, session.id)

    async def view(self, actor: Address, exchange: str | None) -> TreeView:
        """How the caller's own worktree stands, or that of its delegate in an exchange."""
        found = await self._find(actor, exchange)
        async with self._speaking(found.session.id):
            state = await self._trees.status(found.tree)
        return await self._readable(_view(found, state), found.session.id)

    async def merge(self, actor: Address, exchange: str | None) -> tuple[TreeView, MergeResult]:
        """Merges a branch into the one it began at, once the person approved that very commit.

        A conflict changes nothing.
        """
        found = await self._find(actor, exchange)
        whose = found.session.id
        async with self._speaking(whose):
            state = await self._trees.status(found.tree)
            tip, into = _mergeable(found.tree, state)
            caller = await self._session(actor)
            words = (
                f"Merging branch {found.tree.branch} at {tip[:12]} into {into} of {found.tree.repo} for {caller.label}"
            )
            # What is approved is this very commit: work added later is asked about again.
            subject = f"{found.tree.store}:{found.tree.branch}@{tip}->{into}"
            wanted = {subject: words}
            await self._approvals.ask(ApprovalKind.WORKTREE_MERGE, caller.id, wanted, self._limits.approval_wait_s)
            outcome = await self._trees.merge(found.tree, commit=tip)
            decision = RowDecision.MERGED if outcome.merged else RowDecision.CONFLICT
            await self._store.write(lambda tx: self._ledger.event_row(tx, RowEngine.WORKTREE, decision, whose))
            state = await self._trees.status(found.tree)
        into, *conflicts = await self._names([outcome.into, *outcome.conflicts], whose)
        shown = replace(outcome, into=into, conflicts=tuple(conflicts))
        return await self._readable(_view(found, state), whose), shown

    async def _readable(self, view: TreeView, whose: str) -> TreeView:
        """The same with no name in it that the screen withholds."""
        names = [view.branch, view.folder, *view.conflicts, *view.notes]
        branch, folder, *rest = await self._names(names, whose)
        count = len(view.conflicts)
        return replace(
            view, branch=branch, folder=folder, conflicts=tuple(rest[:count]), notes=tuple(rest[count:])
        )  # fmt: skip

    async def _names(self, names: Sequence[str], whose: str) -> list[str]:
        """Names from git as a model may read them: those that the screen withholds are replaced, the rest stay.

        All are, when it is only what they say together that it withholds.
        """
        if not await self._withheld(*names):
            return list(names)
        alone = [await self._withheld(name) for name in names]
        await self._note_withheld(whose)
        return [WITHHELD_NAME if bad or not any(alone) else name for name, bad in zip(names, alone, strict=True)]

    @asynccontextmanager
    async def _speaking(self, whose: str | None = None) -> AsyncIterator[None]:
        """Inside, a refusal that quotes what the screen withholds keeps its code and loses its words."""
        try:
            yield
        except MeshError as error:
            quoted = [str(value) for value in error.details.values()]
            if not await self._withheld(error.message, *quoted):
                raise
            if whose is not None:
                await self._note_withheld(whose)
            raise MeshError(
                error.code,
                "This was not done. Why names a branch, folder or file which reads like an instruction, so the words "
                "are withheld. Tell the person: they can look with git, and answer what is asked in helio approvals.",
            ) from None

    async def _note_withheld(self, whose: str) -> None:
        await self._store.write(
            lambda tx: self._ledger.event_row(tx, RowEngine.WORKTREE, RowDecision.NAME_WITHHELD, whose)
        )

    async def _withheld(self, *texts: str) -> bool:
        verdict = await self._screener.screen([Field(name="name", text=text) for text in texts])
        return verdict.stops

    async def _session(self, actor: Address) -> Session:
        session = await self._store.read(lambda reader: reader.session(actor.session or ""))
        if session is None:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "Only a session has a worktree.")
        return session

    async def _find(self, actor: Address, exchange: str | None) -> _Found:
        return await self._store.read(lambda reader: _found(reader, actor, exchange))


def _found(reader: Reader, actor: Address, wanted: str | None) -> _Found:
    whose = actor.session or ""
    if wanted:
        mine = reader.exchanges_of(actor, closed=True)
        chosen = policy.resolve_exchange(wanted, mine, actor, end=None, tool="worktree_status")
        # Of whom one has only asked something, the worktree is another's.
        if chosen.kind is Kind.DELEGATION or chosen.worker == actor:
            whose = chosen.address(End.WORKER).session or ""
        else:
            whose = ""
    session, tree = reader.session(whose), reader.tree(whose)
    if session is None or tree is None:
        place = f"The worker of exchange {short(wanted)}" if wanted else "This session"
        raise MeshError(
            ErrorCode.NOT_FOUND,
            f"{place} has no worktree of its own. Call worktree_create for one, or name the exchange of a delegate "
            "that has one.",
        )
    return _Found(session=session, tree=tree)


def _mergeable(tree: Worktree, state: WorktreeStatus) -> tuple[str, str]:
    """The commit to merge and the branch to merge it into; what would fail anyway is no question for the person."""
    if state.head is None:
        raise MeshError(ErrorCode.NOT_FOUND, f"The branch {tree.branch} is gone; there is nothing to merge.")
    if tree.onto is None:
        raise MeshError(
            ErrorCode.WRONG_STATE,
            f"The repository at {tree.repo} was on no branch (detached HEAD) when {tree.branch} began, so there is "
            f"none to merge it into. Tell the person: they can merge {tree.branch} by hand.",
        )
    if state.dirty:
        raise MeshError(
            ErrorCode.WRONG_STATE,
            f"{state.dirty} tracked files in {tree.folder} have uncommitted changes, which a merge would leave out. "
            "Commit or undo them there first.",
            {"conflicts": state.conflicts},
        )
    return state.head, tree.onto


def _view(found: _Found, state: WorktreeStatus) -> TreeView:
    return TreeView(
        session=found.session.label,
        branch=found.tree.branch,
        folder=str(found.tree.folder),
        exists=state.exists,
        ahead=state.ahead,
        behind=state.behind,
        changed=state.dirty,
        untracked=state.untracked,
        # Not the subject of its last commit: whoever wrote that was never screened.
        conflicts=state.conflicts,
    )

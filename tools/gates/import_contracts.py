"""Two import-linter contracts which may name rooms that are not built yet (used by tools/arrows.toml)."""

from __future__ import annotations

from collections.abc import Iterable

from grimp import ImportGraph
from importlinter import Contract, ContractCheck
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.protected import ProtectedContract
from importlinter.domain.imports import ModuleExpression


class OnlyContract(ProtectedContract):
    """`protected_modules` are imported by `allowed_importers` alone; names absent from the tree are passed over."""

    type_name = "only"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - the signature is the linter's
        _pass_over_absent(self, ("protected_modules", "allowed_importers"), graph)
        return super().check(graph, verbose)


class ApartContract(ForbiddenContract):
    """`source_modules` never import `forbidden_modules`; names absent from the tree are passed over."""

    type_name = "apart"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - the signature is the linter's
        _pass_over_absent(self, ("source_modules", "forbidden_modules"), graph)
        return super().check(graph, verbose)


def _pass_over_absent(contract: Contract, options: Iterable[str], graph: ImportGraph) -> None:
    # The linter itself sets a contract's options by name, from field descriptions of another type.
    for option in options:
        named: Iterable[ModuleExpression] = getattr(contract, option)
        present = {e for e in named if e.has_wildcard_expression() or e.expression in graph.modules}
        setattr(contract, option, present)

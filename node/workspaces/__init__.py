"""Workspaces: one driver for each way to make a place where sessions run."""

from __future__ import annotations

from node.core.workspace import DriverKind, Workspace
from node.workspaces.bubblewrap import Bubblewrap
from node.workspaces.command import Command
from node.workspaces.driver import Driver, Place, Wrapped
from node.workspaces.host import Host

__all__ = ["Driver", "Drivers", "Place", "Wrapped", "driver_for"]


class Drivers:
    """The drivers of one node; one object for its whole life, because a driver knows what it is starting just now."""

    def __init__(self, place: Place) -> None:
        self._by_kind: dict[DriverKind, Driver] = {
            DriverKind.HOST: Host(place),
            DriverKind.BUBBLEWRAP: Bubblewrap(place),
            DriverKind.COMMAND: Command(place),
        }

    def of(self, workspace: Workspace) -> Driver:
        """The driver which that workspace names."""
        return self._by_kind[workspace.driver]


def driver_for(workspace: Workspace, drivers: Drivers) -> Driver:
    """The driver of a workspace."""
    return drivers.of(workspace)

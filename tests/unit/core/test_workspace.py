"""Workspaces: names, settings, templates of commands, and the one-way reach rule, crossed over every pair."""

from __future__ import annotations

import itertools
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core import workspace as rules
from node.core.errors import ErrorCode, MeshError
from node.core.workspace import DEFAULT, DriverKind, StateCode, Workspace, WorkspaceState, check_mirrors, check_reach
from node.core.workspace_template import check_template, cut, expand, join, mentions, quote


def place(name: str, reach: tuple[str, ...] | None = None, driver: DriverKind = DriverKind.BUBBLEWRAP) -> Workspace:
    return Workspace(name=name, driver=driver, reach=reach)


def refusal(code: ErrorCode, raised: pytest.ExceptionInfo[MeshError]) -> str:
    assert raised.value.code is code
    return raised.value.message


# --- reach ------------------------------------------------------------------------------------------------------------

NAMES = ("Alpha", "beta", "gamma")
REACHES = (None, *(chosen for size in range(4) for chosen in itertools.combinations(NAMES, size)))


@pytest.mark.parametrize("reach", REACHES, ids=str)
@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_every_pair_under_every_reach(source: str, target: str, reach: tuple[str, ...] | None) -> None:
    here, there = place(source, reach), place(target, ())
    allowed = reach is None or source == target or target in reach
    assert here.reaches(there) is allowed
    if allowed:
        check_reach(here, there)
        return
    with pytest.raises(MeshError) as raised:
        check_reach(here, there)
    message = refusal(ErrorCode.REACH, raised)
    assert f"{source!r}" in message
    assert f"{target!r}" in message
    assert message.endswith(" ".join(("helio workspace reach", source, *(reach or ()), target)))
    assert raised.value.details["rule"] == "workspace reach"


def test_the_rule_is_one_way() -> None:
    open_one, closed = place("open"), place("closed", ())
    check_reach(open_one, closed)
    with pytest.raises(MeshError):
        check_reach(closed, open_one)


def test_reach_ignores_case_and_unicode_form() -> None:
    composed, apart = "caf\u00e9", "CAFE\u0301"
    check_reach(place("a", (apart,)), place(composed))
    check_reach(place(composed, ()), place(apart))


@pytest.mark.parametrize(("reach", "mirrors"), [(None, True), ((), False), (("beta",), False)])
def test_a_restricted_workspace_loses_mirrors(reach: tuple[str, ...] | None, mirrors: bool) -> None:  # noqa: FBT001
    here = place("alpha", reach)
    assert here.mirrors_in_reach is mirrors
    if mirrors:
        check_mirrors(here)
        return
    with pytest.raises(MeshError) as raised:
        check_mirrors(here)
    assert "another Mac" in refusal(ErrorCode.REACH, raised)


def test_reach_is_said_in_words() -> None:
    assert rules.reach_words(place("a")) == "every workspace"
    assert rules.reach_words(place("a", ())) == "only sessions in the same workspace"
    assert rules.reach_words(place("a", ("b", "c"))).endswith("and in b, c")
    many = tuple(f"w{number}" for number in range(15))
    assert rules.reach_words(place("a", many)).endswith("w11 and 3 more")


def test_setting_a_reach() -> None:
    known = (place("alpha"), place("Beta"), place("gamma"))
    assert rules.set_reach(known[0], ("beta", "BETA", "alpha"), known).reach == ("Beta",)
    assert rules.set_reach(known[0], (), known).reach == ()
    assert rules.set_reach(place("a", ()), None, known).reach is None
    assert rules.set_reach(known[0], ("default",), known).reach == ("default",)
    with pytest.raises(MeshError) as raised:
        rules.set_reach(known[0], ("delta",), known)
    assert "default, alpha, Beta, gamma" in refusal(ErrorCode.NOT_FOUND, raised)
    with pytest.raises(MeshError) as raised:
        rules.set_reach(known[0], ["beta"] * (rules.REACH_NAMES + 1), known)
    refusal(ErrorCode.LIMIT, raised)


def test_a_removed_workspace_is_forgotten() -> None:
    assert rules.forget(place("a", ("Beta", "gamma")), "BETA").reach == ("gamma",)
    for untouched in (place("a"), place("a", ()), place("a", ("gamma",))):
        assert rules.forget(untouched, "beta") is untouched


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "Lima-2", "büro.x_1", "x" * 32])
def test_good_names(name: str) -> None:
    assert rules.add(name, "host", {}, ()).name == name


@pytest.mark.parametrize("name", ["", " ", "..", "-", "a/b", "a b", "@a", "x" * 33, "a\0", "a\nb", "$(x)", "a{name}"])
def test_bad_names(name: str) -> None:
    with pytest.raises(MeshError) as raised:
        rules.add(name, "host", {}, ())
    assert "cannot name a workspace" in refusal(ErrorCode.INVALID_ARGUMENT, raised)


@pytest.mark.parametrize("name", ["LAB", "lab", "Default"])
def test_names_are_taken_whatever_their_case(name: str) -> None:
    with pytest.raises(MeshError) as raised:
        rules.add(name, "host", {}, (place("Lab"),))
    refusal(ErrorCode.ALREADY_EXISTS, raised)


def test_finding() -> None:
    known = (place("Lab"),)
    assert rules.find("LAB", known) is known[0]
    assert rules.find("", known) is DEFAULT
    changed = place("default", (), DriverKind.HOST)
    assert rules.find("default", (*known, changed)) is changed
    assert rules.with_default((*known, changed)) == (changed, *known)
    with pytest.raises(MeshError) as raised:
        rules.find("lob", known)
    assert "default, Lab" in refusal(ErrorCode.NOT_FOUND, raised)


# --- settings ---------------------------------------------------------------------------------------------------------

COMMAND = {"exec": "ssh box {argv:sh}"}


def test_a_new_workspace() -> None:
    made = rules.add("lab", "command", {**COMMAND, "timeout": "5", "env": "A, B"}, (place("beta"),), reach=("beta",))
    assert made.settings == (("env", "A, B"), ("exec", "ssh box {argv:sh}"), ("timeout", "5"))
    assert (made.reach, made.mode, made.driver) == (("beta",), "block", DriverKind.COMMAND)
    assert made.setting("timeout") == "5"
    assert made.setting("stop", "none") == "none"
    assert rules.add("lone", "host", {}, (), reach=()).reach == ()


@pytest.mark.parametrize("driver", ["docker", "", "HOST"])
def test_an_unknown_driver_is_refused(driver: str) -> None:
    with pytest.raises(MeshError) as raised:
        rules.add("lab", driver, {}, ())
    assert "host, bubblewrap, command" in refusal(ErrorCode.INVALID_ARGUMENT, raised)


@pytest.mark.parametrize("driver", DriverKind)
def test_unknown_settings_are_refused_by_name(driver: DriverKind) -> None:
    with pytest.raises(MeshError) as raised:
        rules.checked_settings(driver, {**(COMMAND if driver is DriverKind.COMMAND else {}), "netwrok": "off"})
    assert "'netwrok' is not a setting" in refusal(ErrorCode.INVALID_ARGUMENT, raised)


@pytest.mark.parametrize(
    ("driver", "key", "good", "bad"),
    [
        (DriverKind.BUBBLEWRAP, "network", ["on", "off"], ["", "yes", "ON"]),
        (DriverKind.BUBBLEWRAP, "read", ["/a", "/a:/b c", ""], ["a", "/a:b", "/a/../b", "~/x", "/a\0"]),
        (DriverKind.BUBBLEWRAP, "write", ["/a"], ["./a", "/a/."]),
        (DriverKind.BUBBLEWRAP, "env", ["A", "A,B_2", "A B"], ["A=1", "2A", "A,b-c"]),
        (DriverKind.COMMAND, "timeout", ["1", "3600"], ["0", "3601", "-1", "1.5", "", "\u0661"]),
        (DriverKind.COMMAND, "outside", ["/"], ["x", "", "/a/.."]),
        (DriverKind.COMMAND, "inside", ["/home/x"], ["home"]),
        (DriverKind.COMMAND, "start", ["limactl start {name}"], ["", "'", "x {cwd}", "x {argv...}", "x\\"]),
        (DriverKind.COMMAND, "stop", ["a"], ["a {local}"]),
        (DriverKind.COMMAND, "state", ["a {name:sh}"], ["a {NAME}"]),
        (
            DriverKind.COMMAND, "exec",
            ["docker exec -it -w {cwd} {name} env {env...} {argv...}", "ssh -t b 'cd {cwd:sh} && exec {argv:sh}'",
             "ssh -R /tmp/h-{session}:{socket} b -- {argv:sh}", "run {argv...} '{{x}}'"],
            ["ssh b", "ssh b {argv}", "b 'x \\{argv:sh}'", "ssh b {argv...}", "ssh b x{argv...}", "run x{argv...}",
             "run {argv...} {local}",
             "sh -c 'cd {cwd} && {argv:sh}'", "timeout 9 /usr/bin/ssh b cd {cwd} {argv:sh}", "b '\"{argv:sh}\"'",
             "b \"x '{argv:sh}\"", "run {argv...} {}", "run {argv...} {cwd...}", "run {{argv...}}"],
        ),
        (
            DriverKind.COMMAND, "copy_in",
            ["ssh b 'cat > {remote:sh}'", "docker cp {local} {name}:{remote}"],
            ["cat", "ssh b cat {remote}", "x {cwd}"],
        ),
        (DriverKind.COMMAND, "copy_out", ["limactl cp {name}:{remote} {local}"], ["x {local}", "sh -c 'x {remote}'"]),
    ],
)  # fmt: skip
def test_values_of_settings(driver: DriverKind, key: str, good: list[str], bad: list[str]) -> None:
    base = dict(COMMAND) if driver is DriverKind.COMMAND else {}
    for value in good:
        assert dict(rules.checked_settings(driver, base | {key: value}))[key] == value
    for value in bad:
        with pytest.raises(MeshError) as raised:
            rules.checked_settings(driver, base | {key: value})
        assert key in refusal(ErrorCode.INVALID_ARGUMENT, raised)


def test_long_settings_and_missing_ones() -> None:
    with pytest.raises(MeshError) as raised:
        rules.checked_settings(DriverKind.COMMAND, {"exec": "x {argv...} " + "y" * rules.SETTING_CHARS})
    refusal(ErrorCode.LIMIT, raised)
    with pytest.raises(MeshError) as raised:
        rules.checked_settings(DriverKind.COMMAND, {"start": "x"})
    assert "needs the setting 'exec'" in refusal(ErrorCode.INVALID_ARGUMENT, raised)


def test_changing_settings() -> None:
    lab = rules.add("lab", "bubblewrap", {"network": "off", "read": "/a"}, ())
    assert rules.change(lab, {"network": "on"}).settings == (("network", "on"), ("read", "/a"))
    assert rules.change(lab, {"read": "", "write": ""}).settings == (("network", "off"),)
    with pytest.raises(MeshError):
        rules.change(lab, {"netwrok": ""})
    box = rules.add("box", "command", COMMAND, ())
    with pytest.raises(MeshError) as raised:
        rules.change(box, {"exec": ""})
    assert "needs the setting 'exec'" in refusal(ErrorCode.INVALID_ARGUMENT, raised)


def test_lists_in_settings() -> None:
    assert rules.path_list("/a::/b c:") == ("/a", "/b c")
    assert rules.name_list("A, B  C,") == ("A", "B", "C")


def test_a_state_is_said_in_words() -> None:
    assert str(WorkspaceState(code=StateCode.ON)) == "on"
    assert str(WorkspaceState(code=StateCode.BROKEN, why="no bwrap")) == "broken: no bwrap"


# --- templates --------------------------------------------------------------------------------------------------------

HOSTILE = st.text(max_size=12).filter(lambda text: "\0" not in text)
LINES = st.text(alphabet="ab '\"\\$\n\t{}-", max_size=14)


@given(words=st.lists(HOSTILE, max_size=5))
def test_what_is_quoted_is_read_back(words: list[str]) -> None:
    assert shlex.split(join(words)) == words
    assert list(cut(join(words))) == words


@given(line=LINES)
def test_lines_are_cut_as_the_library_does(line: str) -> None:
    def ours() -> list[str] | None:
        try:
            return list(cut(line))
        except ValueError:
            return None

    def theirs() -> list[str] | None:
        try:
            return shlex.split(line)
        except ValueError:
            return None

    # The library takes "\$" between double quotes for two letters; a shell takes it for one.
    if '"' not in line or "\\$" not in line:
        assert ours() == theirs()


@given(cwd=HOSTILE, argv=st.lists(HOSTILE, min_size=1, max_size=4))
def test_no_value_adds_a_word(cwd: str, argv: list[str]) -> None:
    values: dict[str, str | tuple[str, ...]] = {"cwd": cwd, "argv": tuple(argv), "name": "n"}
    template = "run -w {cwd} {name}:{cwd} {argv...} 'cd {cwd:sh} && exec {argv:sh}' '{{}}'"
    script = f"cd {quote(cwd)} && exec {join(argv)}"
    assert expand(template, values) == ("run", "-w", cwd, f"n:{cwd}", *argv, script, "{}")


def test_what_a_template_mentions() -> None:
    template = "cp {local:sh} '{{remote}}'"
    assert mentions(template, "local")
    assert not mentions(template, "remote")


def test_the_words_of_a_shell_between_double_quotes() -> None:
    assert cut('a "b\\$c\\d\\"" \'\' x\\ y') == ("a", 'b$c\\d"', "", "x y")


def test_a_template_says_what_may_stand_there() -> None:
    with pytest.raises(MeshError) as raised:
        check_template("exec", "ssh box ${HOME} {argv:sh}")
    message = refusal(ErrorCode.INVALID_ARGUMENT, raised)
    assert "{HOME}, which means nothing there" in message
    assert "{argv...}" in message

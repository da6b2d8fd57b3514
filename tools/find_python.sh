# Sourced by tools/check and tools/demo: leaves in $PYTHON a Python of at least 3.11, or ends with what to do.
# A shell script because there may be no Python yet. HELIOGRAPH_PYTHON names one to use instead of searching.

_is_supported() {
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

_search() {
    for _candidate in python3 python3.13 python3.12 python3.11 python3.14; do
        if _is_supported "$_candidate"; then
            PYTHON=$_candidate
            return 0
        fi
    done
    return 1
}

if [ -n "${HELIOGRAPH_PYTHON:-}" ]; then
    PYTHON=$HELIOGRAPH_PYTHON
    if ! _is_supported "$PYTHON"; then
        echo "HELIOGRAPH_PYTHON is '$PYTHON', which is not a Python of at least 3.11. Unset it or name another." >&2
        exit 2
    fi
elif ! _search; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "No Python of at least 3.11 on PATH: installing Debian's." >&2
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            python3 python3-venv >/dev/null
    fi
    if ! _search; then
        echo "heliograph needs Python 3.11 or newer and found none on PATH (python3 is $(python3 --version 2>&1 || true))." >&2
        if command -v apt-get >/dev/null 2>&1; then
            echo "Install one and run this again: sudo apt-get update && sudo apt-get install -y python3 python3-venv" >&2
        else
            echo "Install one and run this again: brew install python@3.13" >&2
        fi
        exit 2
    fi
fi

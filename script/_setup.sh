# Sourced by script/demo and script/test, from the root of the repository.

venv_python=.venv/bin/python
new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

# Prints the first Python that runs and is new enough.
find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        if [ -n "$candidate" ] && "$candidate" -c "$new_enough" >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    echo "error: Python 3.11 or newer is needed and was not found; install it, or set PYTHON to its path." >&2
    return 1
}

make_venv() {
    local python
    python=$(find_python)
    echo "Making the virtual environment .venv with $("$python" --version)"
    # A half-made environment would be taken for a good one next time.
    if ! "$python" -m venv .venv; then
        rm -rf .venv
        echo "error: $python could not make a virtual environment; its venv module may be missing (Debian: python3-venv)." >&2
        return 1
    fi
}

# setup [EXTRAS]: a virtual environment with the package and the extras (comma-separated) installed in it.
setup() {
    [ -e .venv ] || make_venv
    if ! "$venv_python" -c "import pip; $new_enough" >/dev/null 2>&1; then
        echo "error: .venv has no working Python 3.11 or newer with pip; remove the folder .venv and run this again." >&2
        return 1
    fi
    echo "Installing pegasos${1:+ with [$1]} into .venv"
    "$venv_python" -m pip install --quiet --disable-pip-version-check --upgrade pip
    "$venv_python" -m pip install --quiet --disable-pip-version-check --editable ".${1:+[$1]}"
}

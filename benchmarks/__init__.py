"""One module per claim about speed: runs our library and its peers by turns, and writes a table and JSON.

    python -m benchmarks list                          the claims
    python -m benchmarks run [name ...] [--quick]      measure some, or all that run by default
    python -m benchmarks readme                        write the tables of README and docs/benchmarks.md from the JSON

A claim is a module with a `TITLE`, a flag `BY_DEFAULT` and a function `run(options)` that gives its rows. What claims
share lies in the modules whose names begin with an underscore.

The settings of ours stand at the top of each claim. They are to be chosen on training rows, never by the test error
that the claim then reports.
"""

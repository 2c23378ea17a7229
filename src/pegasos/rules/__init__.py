"""Rules: how one step changes a column.

`column` is the record of a column, `step` the algebra of one step, `state` what a solve moves.
"""

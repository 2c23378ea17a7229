"""The problem to solve: its columns, the schedule of its draws, and the job that a solver is given."""

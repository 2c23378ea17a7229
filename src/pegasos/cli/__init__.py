"""The command line: one module per sub-command; heavy imports wait until a command runs."""

"""The command line: one small function per sub-command; nothing heavy is imported until a command runs."""

"""`python -m pegasos`: the command line."""

from pegasos.cli.app import main

if __name__ == "__main__":
    main()

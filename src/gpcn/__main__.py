"""`python -m gpcn` is the command line."""

from gpcn.cli import main

if __name__ == "__main__":
    main()

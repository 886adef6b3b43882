"""`python -m dielet` is the command `dielet`."""

from dielet.cli import main

if __name__ == "__main__":
    main()

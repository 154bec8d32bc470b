"""`python -m shuffledp` is the command `shuffledp`."""

from shuffledp.cli import main

if __name__ == "__main__":
    main()

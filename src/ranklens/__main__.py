"""``python -m ranklens`` is the command ``ranklens``."""

from ranklens.cli import main

if __name__ == "__main__":
    main()

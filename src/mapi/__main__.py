"""``python -m mapi`` is the command ``mapi``."""

from mapi.cli import main

if __name__ == "__main__":
    main()

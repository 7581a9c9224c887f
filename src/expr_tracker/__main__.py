"""``python -m expr_tracker`` is the command ``et``."""

from expr_tracker.cli import main

if __name__ == "__main__":
    main()

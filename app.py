"""Start: the page by default, the command line with a verb."""

import sys

from facefusion_ui.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""Start: the page by default, the command line with a verb."""

import sys

from facefusion_ui.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

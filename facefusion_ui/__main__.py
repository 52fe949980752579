"""`python -m facefusion_ui` is `python app.py`."""

import sys

from facefusion_ui.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

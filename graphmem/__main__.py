"""``python -m graphmem`` is the console command ``graphmem``."""

import sys

from graphmem.cli import main

sys.exit(main())

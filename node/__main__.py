"""`python -m node` is `helio`."""

import sys

from node.entry import main

sys.exit(main())

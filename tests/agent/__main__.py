"""`python tests/agent`: the test agent on stdin and stdout, or with `--port N` on TCP for several clients."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[2])
    from tests.agent.program import main

    main()

"""`python tests/agent`: the test agent on stdin and stdout, or with `--port N` on TCP for several clients.

`python tests/agent --play TRANSCRIPT` plays a recorded conversation (`replay.py`).
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[2])
    if sys.argv[1:2] == ["--play"]:
        from tests.agent import replay  # alone, since it starts at once

        replay.main(sys.argv[2])
    else:
        from tests.agent.program import main

        main()

"""`python tests/agent`: the test agent on stdin and stdout.

`python tests/agent --play TRANSCRIPT` plays a recorded conversation (`replay.py`), `--login` signs in (`signin.py`).
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[2])
    match sys.argv[1:]:
        case ["--play", path]:
            from tests.agent.replay import main  # alone, since it starts at once

            main(path)
        case ["--login"]:
            from tests.agent.signin import log_in

            log_in()
        case _:
            from tests.agent.program import main as serve

            serve()

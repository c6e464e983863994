"""`python tests/windows FOLDER [NAME …]`: the stories, or those with these names, with their files in FOLDER.

Prints a line for each story: `ok NAME`, or `failed NAME` with the reason.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[2])
    from tests.ports import use_for_kernels

    use_for_kernels()
    match sys.argv[1:]:
        case ["--orphan", project]:
            from tests.windows.stories import leave_running

            leave_running(Path(project))
        case [folder, *names]:
            from tests.windows.stories import main

            main(Path(folder), names)

"""What the agent may ask of us: files of the project, and commands in terminals.

Both work in two steps, so that a person or a rule judges what will really happen: `Files.locate` and `prepare` say
what is meant, `Files.read`, `Files.write` and `Terminals.create` do it. What cannot be done raises a `HostError`.
Nothing here asks for permission, and nothing knows the wire.
"""

from .command import Command, prepare
from .files import Files
from .places import Place
from .terminals import Exit, Terminals

__all__ = ["Command", "Exit", "Files", "Place", "Terminals", "prepare"]

"""Animation in, physics added, animation out.

>>> import followthrough as ft
>>> flag = ft.Clip.sample("flag")
>>> shot = ft.Shot.parse('''
... [[layer]]
... kind = "smooth"
... window = 0.1
... [output]
... files = []
... report = false
... ''')
>>> import tempfile
>>> bake = shot.bake(flag, out=tempfile.mkdtemp(), frames="0-2")
>>> bake.clip.points("flag")[2].shape == flag.points("flag")[2].shape
True
"""

from ._followthrough import (
    Bake,
    Clip,
    Error,
    Operator,
    Player,
    Points,
    Progress,
    Shot,
    __version__,
    compare,
    samples,
    schema,
)
from ._usd import from_stage, write_over

__all__ = [
    "Bake",
    "Clip",
    "Error",
    "Operator",
    "Player",
    "Points",
    "Progress",
    "Shot",
    "__version__",
    "compare",
    "from_stage",
    "samples",
    "schema",
    "write_over",
]

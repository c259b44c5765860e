"""Makes the extension's archive: this folder with wheels inside.

    python blender/build.py WHEEL… OUT.zip
"""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).parent


def build(wheels: list[Path], out: Path) -> Path:
    """Writes the archive and gives back where it is."""
    manifest = (HERE / "blender_manifest.toml").read_text(encoding="utf-8")
    listed = ", ".join(f'"./wheels/{wheel.name}"' for wheel in wheels)
    manifest, replaced = re.subn(r"^wheels = \[\]$", f"wheels = [{listed}]", manifest, flags=re.M)
    if replaced != 1:
        raise SystemExit("blender_manifest.toml has no line `wheels = []`")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("blender_manifest.toml", manifest)
        for path in sorted(HERE.glob("*.py")):
            if path.name != Path(__file__).name:
                archive.write(path, path.name)
        for wheel in wheels:
            archive.write(wheel, f"wheels/{wheel.name}", zipfile.ZIP_STORED)
    return out


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    print(build([Path(word) for word in sys.argv[1:-1]], Path(sys.argv[-1])))

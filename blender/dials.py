"""The dials of a layer, as followthrough's JSON schema has them: nothing about them is written here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# drawn elsewhere in the panel, or decided by the exchange of files
APART = {"kind", "name", "mesh", "together", "enabled", "obstacles"}
# directions and places: Z is up in Blender, Y in a shot
TURNED = {"gravity", "direction", "axis", "centre", "offset", "normal"}
# tables in tables are drawn to this depth
DEPTH = 2


@dataclass(frozen=True)
class Dial:
    """One value of a layer: `key` is its dotted path in the shot, `kind` one of number, integer, switch, choice, text, vector, group."""

    key: str
    kind: str
    help: str
    default: Any = None
    limits: tuple[float | None, float | None] = (None, None)
    usual: tuple[float | None, float | None] = (None, None)
    choices: tuple[tuple[str, str], ...] = ()
    size: int = 0

    @property
    def identifier(self) -> str:
        """Its name as a property of Blender."""
        return self.key.replace(".", "__")

    @property
    def label(self) -> str:
        return self.key.split(".")[-1].replace("_", " ").capitalize()

    @property
    def table(self) -> str:
        """The table that it stands in, or nothing."""
        return self.key.rpartition(".")[0]

    @property
    def is_turned(self) -> bool:
        return self.kind == "vector" and self.size == 3 and self.key.split(".")[-1] in TURNED

    @property
    def may_be_absent(self) -> bool:
        """Whether leaving it out means something of its own: the material's value, none."""
        return self.default is None


def kinds(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The schema of each kind of layer, by name."""
    return {entry["properties"]["kind"]["const"]: entry for entry in schema["properties"]["layer"]["items"]["oneOf"]}


def dials(schema: dict[str, Any], kind: str) -> list[Dial]:
    """The dials of a kind of layer, those at the top first."""
    found = _of_table(schema, kinds(schema)[kind], "", DEPTH)
    return sorted(found, key=lambda dial: dial.key.count("."))


def _of_table(schema: dict[str, Any], table: dict[str, Any], above: str, depth: int) -> list[Dial]:
    defaults = table.get("default") or {}
    found: list[Dial] = []
    for name, entry in table["properties"].items():
        if name in APART:
            continue
        key = f"{above}.{name}" if above else name
        whole, is_selector = _resolved(schema, entry)
        default = entry.get("default", defaults.get(name))
        help = " ".join((entry.get("description") or whole.get("description") or "").split())
        if is_selector:
            found.append(Dial(key, "group", help))
        elif whole.get("type") == "object" and "properties" in whole:
            if depth > 1:
                inner = {**whole, "default": default if isinstance(default, dict) else {}}
                found += _of_table(schema, inner, key, depth - 1)
        else:
            dial = _dial(key, whole, default, help)
            found += [dial] if dial else []
    return found


def _resolved(schema: dict[str, Any], entry: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """What an entry refers to, and whether that is a selector of points."""
    while True:
        one = [item for item in entry.get("anyOf") or entry.get("allOf") or [] if item.get("type") != "null"]
        if "$ref" in entry:
            name = entry["$ref"].rsplit("/", 1)[-1]
            if name == "Selector":
                return entry, True
            entry = {**schema["definitions"][name], **{k: v for k, v in entry.items() if k != "$ref"}}
        elif len(one) == 1 and "type" not in entry:
            entry = {**one[0], **{k: v for k, v in entry.items() if k not in ("anyOf", "allOf")}}
        else:
            return entry, False


def _dial(key: str, entry: dict[str, Any], default: Any, help: str) -> Dial | None:
    types = entry.get("type")
    types = set(types if isinstance(types, list) else [types]) - {"null"}
    limits = (entry.get("minimum", entry.get("exclusiveMinimum")), entry.get("maximum", entry.get("exclusiveMaximum")))
    usual = tuple(entry.get("x-usual") or (None, None))
    words = [(item["const"], " ".join(item.get("description", "").split())) for item in entry.get("oneOf") or () if "const" in item]
    words += [(word, "") for word in entry.get("enum") or () if isinstance(word, str)]
    if words and len(words) == len(entry.get("oneOf") or entry.get("enum")):
        return Dial(key, "choice", help, default, choices=tuple(words))
    if types == {"number"}:
        return Dial(key, "number", help, default, limits, usual)
    if types == {"integer"}:
        return Dial(key, "integer", help, default, limits, usual)
    if types == {"boolean"}:
        return Dial(key, "switch", help, bool(default))
    if types == {"string"}:
        return Dial(key, "text", help, default)
    size = entry.get("minItems")
    if types == {"array"} and size and size == entry.get("maxItems") and (entry.get("items") or {}).get("type") == "number":
        return Dial(key, "vector", help, default, size=size)
    return None

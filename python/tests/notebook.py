"""Runs a notebook without Jupyter: its code cells in order, in one namespace, each with what it prints and what its last line gives.

    BOOK_WRITE=1 python -m pytest python/tests/test_package.py -k notebook      # writes what came out into the notebook
"""

import ast
import base64
import contextlib
import io
import json
import sys
import types
from pathlib import Path


class Picture:
    """What stands for `IPython.display.Image` here."""

    def __init__(self, filename):
        self.data = Path(filename).read_bytes()


def lines(text):
    return text.splitlines(keepends=True)


def run_cell(source, names, count):
    """The outputs of a cell, as a notebook stores them."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(last, f"cell {count}", "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if isinstance(value, Picture):
        data = {"image/png": base64.b64encode(value.data).decode(), "text/plain": ["<IPython.core.display.Image object>"]}
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    elif value is not None:
        outputs.append({"data": {"text/plain": lines(repr(value))}, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def run(path):
    """The notebook as it stands, and as it comes out."""
    stored = json.loads(Path(path).read_text())
    display = types.ModuleType("IPython.display")
    display.Image = Picture
    package = types.ModuleType("IPython")
    package.display = display
    before = {name: sys.modules.get(name) for name in ("IPython", "IPython.display")}
    sys.modules |= {"IPython": package, "IPython.display": display}
    made, names, count = json.loads(json.dumps(stored)), {}, 0
    try:
        for cell in made["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell["execution_count"], cell["outputs"] = count, run_cell("".join(cell["source"]), names, count)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return stored, made


def words(notebook):
    """What a reader sees of the outputs, pictures by their sizes only: their last bits are the machine's."""
    seen = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                seen.append(base64.b64decode(data["image/png"])[16:24].hex())
            else:
                seen.append("".join(output.get("text") or data["text/plain"]))
    return seen


def picture(notebook):
    """The bytes of its only picture."""
    (found,) = [output["data"]["image/png"] for cell in notebook["cells"] for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
    return base64.b64decode(found)

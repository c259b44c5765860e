"""The package: stubs that say what the module has, docstrings and pages whose examples run, the command, how long importing takes."""

import ast
import doctest
import inspect
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import followthrough as ft
import notebook
import pytest
from followthrough import _followthrough, _usd

REPOSITORY = Path(__file__).parents[2]


def stub():
    text = (Path(ft.__file__).parent / "__init__.pyi").read_text()
    return ast.parse(text)


def signature_of(function: ast.FunctionDef):
    """Names, kinds and defaults, as `inspect` has them; None for what it cannot tell."""
    args = function.args
    names = [("plain", arg.arg) for arg in args.posonlyargs + args.args if arg.arg != "self"]
    defaults = [ast.literal_eval(d) for d in args.defaults]
    plain = [(name, kind, None) for kind, name in names[: len(names) - len(defaults)]]
    plain += [(name, kind, (value,)) for (kind, name), value in zip(names[len(names) - len(defaults) :], defaults)]
    named = [(arg.arg, "named", None if d is None else (ast.literal_eval(d),)) for arg, d in zip(args.kwonlyargs, args.kw_defaults)]
    return plain + named


def signature_in(value):
    found = []
    for parameter in inspect.signature(value).parameters.values():
        if parameter.name == "self":
            continue
        kind = "named" if parameter.kind is parameter.KEYWORD_ONLY else "plain"
        found.append((parameter.name, kind, None if parameter.default is parameter.empty else (parameter.default,)))
    return found


def test_the_stubs_say_what_the_module_has():
    classes = {node.name: node for node in stub().body if isinstance(node, ast.ClassDef)}
    functions = {node.name: node for node in stub().body if isinstance(node, ast.FunctionDef)}
    imported = {a.asname for node in stub().body if isinstance(node, ast.ImportFrom) for a in node.names if a.asname}
    assert set(classes) | set(functions) | imported | {"__version__"} == set(ft.__all__)
    for name, node in functions.items():
        assert signature_of(node) == signature_in(getattr(ft, name)), name
    for name, node in classes.items():
        value = getattr(ft, name)
        assert value.__doc__ and value.__module__ == "followthrough", name
        told = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        told |= {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
        there = {key for key in vars(value) if not key.startswith("_") or key in told}
        public = {key for key in told if not key.startswith("__")}
        assert {key for key in there if not key.startswith("__")} == public, name
        for item in node.body:
            if not isinstance(item, ast.FunctionDef) or item.name.startswith("__"):
                continue
            member = inspect.getattr_static(value, item.name)
            is_property = any(getattr(d, "id", "") == "property" for d in item.decorator_list)
            if is_property:
                assert inspect.isdatadescriptor(member), f"{name}.{item.name}"
            else:
                assert signature_of(item) == signature_in(getattr(value, item.name)), f"{name}.{item.name}"
            assert getattr(value, item.name).__doc__, f"{name}.{item.name} says nothing"


def test_docstrings_are_tests():
    tried = failed = 0
    runner = doctest.DocTestRunner()
    places = {"followthrough": ft.__doc__, "from_stage": _usd.from_stage.__doc__}
    for name in ft.__all__:
        value = getattr(ft, name)
        places[name] = value.__doc__
        if inspect.isclass(value):
            places |= {f"{name}.{key}": getattr(value, key).__doc__ for key in vars(value) if not key.startswith("__")}
    for name, text in places.items():
        if not text or ">>>" not in text:
            continue
        test = doctest.DocTestParser().get_doctest(inspect.cleandoc(text), {}, name, None, 0)
        result = runner.run(test)
        tried, failed = tried + result.attempted, failed + result.failed
    assert tried > 15 and failed == 0


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "python/README.md"])
def test_the_examples_on_the_pages_run(page, tmp_path, monkeypatch):
    path = REPOSITORY / page
    if not path.exists():
        pytest.skip(f"{page} is not beside the tests")
    blocks = re.findall(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S)
    assert blocks, page
    monkeypatch.chdir(tmp_path)
    assert command("new", "flag.toml", "--from", "flag").returncode == 0
    names = {}
    for block in blocks:
        if "pxr" in block:
            pytest.importorskip("pxr", reason="usd-core is not installed")
        exec(compile(block, page, "exec"), names)


def test_the_notebook_shows_what_comes_out(tmp_path, monkeypatch):
    path = REPOSITORY / "docs/two-fabrics.ipynb"
    if not path.exists():
        pytest.skip("the book is not beside the tests")
    monkeypatch.chdir(tmp_path)
    stored, made = notebook.run(path)
    shown = REPOSITORY / "docs/images/python.png"
    if os.environ.get("BOOK_WRITE"):
        path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
        shown.write_bytes(notebook.picture(made))
    else:
        assert shown.read_bytes() == notebook.picture(stored), "the page on Python shows the notebook's picture"
        assert notebook.words(stored) == notebook.words(made), "BOOK_WRITE=1 writes it anew"
    assert len(notebook.words(made)) >= 5


def command(*words, **options):
    return subprocess.run([sys.executable, "-m", "followthrough", *words], capture_output=True, text=True, **options)


def test_the_command_is_in_the_package(tmp_path):
    assert command("--version").stdout.strip() == f"followthrough {ft.__version__}"
    assert command("bkae").returncode == 2
    answer = json.loads(command("info", "sample:flag", "--json").stdout)
    assert answer["ok"]
    bad = command("bake", "none.toml", cwd=tmp_path)
    assert bad.returncode == 1 and "followthrough new none.toml" in bad.stderr
    script = Path(sys.executable).with_name("followthrough")
    if script.exists():
        assert subprocess.run([script, "--version"], capture_output=True, text=True).stdout == command("--version").stdout


def test_the_command_stopped_says_how_to_go_on(tmp_path):
    import signal

    (tmp_path / "s.toml").write_text('[input]\nsample = "flag"\n[[layer]]\nkind = "cloth"\nmesh = "flag"\nfollow = { group = "hoist" }\n[output]\nfiles = []\nreport = false\n')
    words = [sys.executable, "-m", "followthrough", "bake", "s.toml", "--out", "out"]
    bake = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.rglob("frame-*.bin")) and bake.poll() is None:
        time.sleep(0.02)
    bake.send_signal(signal.SIGINT)
    _, said = bake.communicate(timeout=60)
    assert bake.returncode == 130 and "followthrough bake s.toml --out out" in said, said


def test_importing_takes_no_time():
    # of the processor: the machine may be busy with other things
    code = "import time; t = time.process_time(); import followthrough; print(time.process_time() - t)"
    seconds = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))
    assert seconds < 0.08, seconds
    numpy = "import followthrough, sys; print('numpy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", numpy], text=True).strip() == "False"


def test_the_benchmark_runs():
    """Small work: that it measures, and not how fast the machine is."""
    program = REPOSITORY / "python/benches/speed.py"
    if not program.exists():
        pytest.skip("the benchmark is not beside the tests")
    said = subprocess.run([sys.executable, program, "--quick"], capture_output=True, text=True, check=True).stdout
    answer = json.loads(said.splitlines()[-1])
    assert answer["bench"] == "python" and min(answer["gb_per_s"].values()) > 0 and answer["bake_ratio"] > 0


def test_the_version_is_that_of_the_library():
    assert ft.__version__ == _followthrough.__version__
    assert ft.schema()["properties"]["layer"]

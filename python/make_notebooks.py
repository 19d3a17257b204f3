#!/usr/bin/env python3
"""Writes the examples as Jupyter notebooks, so that scripts and notebooks cannot differ.

    make_notebooks.py FOLDER [MODEL]     writes FOLDER/tensors.ipynb and so on; MODEL is the file that those about language models load

A notebook has the script's docstring as text, its arguments in a cell of their own, each definition as a cell, and the call at the end.
"""
import ast
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODEL = "models/novelist-20m-q8_0.gguf"
# What a notebook's first cell sets the arguments to.
ARGUMENTS = {"chat": ["{model}", "Who are you?", "chatml"], "extract": ["{model}"], "search": ["{model}"],
             "finetune": ["{model}", "{root}/docs/engine.md", "adapter", "15"]}


def cell(kind, text):
    made = {"cell_type": kind, "metadata": {}, "source": text.strip("\n").splitlines(keepends=True)}
    return {**made, "execution_count": None, "outputs": []} if kind == "code" else made


def code_parts(text, tree):
    """The script behind its docstring: imports and constants together, each function, and what is called at the end."""
    lines, parts, gathered = text.splitlines(), [], []
    end = tree.body[0].end_lineno
    for node in tree.body[1:]:
        start = min([node.lineno, *[decorator.lineno for decorator in getattr(node, "decorator_list", [])]]) - 1
        source = "\n".join(lines[end:start] + lines[start:node.end_lineno]).strip("\n")
        end = node.end_lineno
        if isinstance(node, (ast.FunctionDef, ast.For, ast.Expr)):
            parts += ["\n".join(gathered)] if gathered else []
            gathered = []
            parts.append(source)
        else:
            gathered.append(source)
    return parts + (["\n".join(gathered)] if gathered else [])


def notebook_of(path, model):
    text = path.read_text()
    tree = ast.parse(text)
    words = [word.format(model=model, root=ROOT) for word in ARGUMENTS.get(path.stem, [])]
    title, _, rest = ast.get_docstring(tree).partition("\n")
    about = "\n".join(line for line in rest.splitlines() if not line.startswith("    ")).strip()
    cells = [cell("markdown", f"# {title}\n\n{about}"), cell("code", f"import sys\n\nsys.argv = {[path.stem, *words]!r}")]
    cells += [cell("code", part) for part in code_parts(text, tree)]
    for number, one in enumerate(cells):
        one["id"] = f"{path.stem}-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__.strip())
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "python/examples").glob("*.py")):
        notebook = notebook_of(path, sys.argv[2] if len(sys.argv) > 2 else MODEL)
        (folder / f"{path.stem}.ipynb").write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


main()

"""Ordinary nbgrader assignments without any code of ours, and submissions to them.

`ASSIGNMENTS` contains source notebooks. `SUBMITTED` contains the text of the cells in which a
submission differs from the released notebook, keyed by cell name.
"""

from __future__ import annotations

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def plain(source: str) -> NotebookNode:
    return new_code_cell(source)


def answer(name: str, source: str) -> NotebookNode:
    return _kept(new_code_cell(source), name, solution=True)


def check(name: str, points: float, source: str) -> NotebookNode:
    return _kept(new_code_cell(source), name, grade=True, locked=True, points=points)


def manual(name: str, points: float, source: str, markdown: bool = False) -> NotebookNode:
    make = new_markdown_cell if markdown else new_code_cell
    return _kept(make(source), name, grade=True, solution=True, points=points)


def task(name: str, points: float, source: str) -> NotebookNode:
    return _kept(new_markdown_cell(source), name, task=True, locked=True, points=points)


def _kept(
    cell: NotebookNode,
    name: str,
    grade: bool = False,
    solution: bool = False,
    locked: bool = False,
    task: bool = False,
    points: float | None = None,
) -> NotebookNode:
    metadata = {"grade_id": name, "grade": grade, "solution": solution, "locked": locked}
    metadata |= {"task": task, "schema_version": 3}
    cell.metadata["nbgrader"] = metadata | ({} if points is None else {"points": points})
    return cell


def notebook(*cells: NotebookNode) -> NotebookNode:
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return new_notebook(cells=list(cells), metadata={"kernelspec": _KERNEL})


def _hidden(shown: str, hidden: str) -> str:
    return f"{shown}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"


ASSIGNMENTS = {
    "numbers": notebook(
        plain("%matplotlib inline\nimport numpy as np\nimport matplotlib.pyplot as plt"),
        answer(
            "mean",
            "def mean(values):\n    ### BEGIN SOLUTION\n    return sum(values) / len(values)\n"
            "    ### END SOLUTION",
        ),
        plain("mean([1, 2, 3])"),
        check(
            "mean_right",
            2,
            _hidden("assert mean([1, 2, 3]) == 2", "assert abs(mean([0.1, 0.2]) - 0.15) < 1e-9"),
        ),
        check(
            "mean_partly",
            3,
            "points = 0\n"
            "for values in ([1], [1, 3], [-1, 1], [2, 2, 5]):\n"
            "    try:\n        points += 0.75 * (mean(values) == sum(values) / len(values))\n"
            "    except Exception:\n        pass\n"
            "points",
        ),
        answer(
            "normalised",
            "def normalised(a):\n    ### BEGIN SOLUTION\n    return (a - a.mean()) / a.std()\n"
            "    ### END SOLUTION",
        ),
        plain("x = np.linspace(0, 1, 5)\nplt.plot(x, normalised(x));"),
        check(
            "normalised_right",
            1,
            _hidden(
                "z = normalised(np.array([1.0, 2.0, 4.0]))",
                "np.testing.assert_allclose(z.mean(), 0, atol=1e-12)\n"
                "np.testing.assert_allclose(z.std(), 1)",
            ),
        ),
        check("uses_z", 1, "# names of the test above are still there\nassert z.shape == (3,)"),
        manual("explain", 2, "Why divide by the standard deviation?", markdown=True),
        manual("experiment", 1, "# plot something of your own"),
        task("essay", 4, "Write a page about means."),
    ),
    "texts": notebook(
        plain("from collections import Counter\nfrom IPython.display import display, HTML"),
        answer(
            "words",
            "def words(text):\n    ### BEGIN SOLUTION\n    return Counter(text.lower().split())\n"
            "    ### END SOLUTION",
        ),
        check("words_type", 1, "assert isinstance(words('a b a'), Counter)"),
        check("words_right", 2, _hidden("", "assert words('To be or not to BE')['be'] == 2")),
        answer(
            "first",
            "### BEGIN SOLUTION\nfirst = max(words('b a b'), key=words('b a b').get)\n"
            "### END SOLUTION",
        ),
        check("first_right", 1, "assert first == 'b'"),
        answer(
            "printed",
            "def report(text):\n    ### BEGIN SOLUTION\n"
            "    for word, count in sorted(words(text).items()):\n"
            "        print(word, count)\n    ### END SOLUTION",
        ),
        check(
            "printed_right",
            1,
            "import io, contextlib\nshown = io.StringIO()\n"
            "with contextlib.redirect_stdout(shown):\n    report('b a b')\n"
            "assert shown.getvalue() == 'a 1\\nb 2\\n'\nprint('well done')",
        ),
        check("quiet", 1, "report('a');\nlen(words('a a b')) / 2"),
        check(
            "file", 1, "with open('poem.txt') as poem:\n    assert words(poem.read())['red'] == 1"
        ),
        check("whole", 1, "display(HTML('<b>bold</b>'))\nwords('a')"),
    ),
    "tensors": notebook(
        plain("import torch\nfrom torch import nn"),
        answer(
            "attend",
            "def attend(q, k, v):\n    ### BEGIN SOLUTION\n"
            "    return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, -1) @ v\n    ### END SOLUTION",
        ),
        check(
            "attend_right",
            3,
            _hidden(
                "q = torch.eye(3)\nassert attend(q, q, q).shape == (3, 3)",
                "expected = nn.functional.scaled_dot_product_attention(q, q, q)\n"
                "assert torch.allclose(attend(q, q, q), expected, atol=1e-6)",
            ),
        ),
        check("tensor_value", 1, "torch.tensor(0.)"),
    ),
}

#: the cells that a student changed or added, by assignment, student and name
SUBMITTED: dict[str, dict[str, dict[str, str]]] = {
    "numbers": {
        "right": {
            "mean": "def mean(values):\n    return sum(values) / len(values)",
            "normalised": "def normalised(a):\n    return (a - np.mean(a)) / np.std(a)",
            "explain": "So that scales are alike.",
            "experiment": "plt.hist([1, 2, 2]);",
        },
        "partly": {
            "mean": "import statistics\ndef mean(values):\n    return statistics.median(values)",
            "normalised": "import warnings\n"
            "def normalised(a):\n    warnings.warn('careful')\n    return (a - a.mean()) / a.std()",
        },
        "raising": {
            "mean": "1 / 0\ndef mean(values):\n    return sum(values) / len(values)",
            "normalised": "def normalised(a):\n    return undefined_name",
            "experiment": "raise ValueError('mine')",
        },
    },
    "texts": {
        "right": {
            "words": "def words(text):\n    return Counter(w.lower() for w in text.split())",
            "first": "first = 'b'",
            "printed": "def report(text):\n    counted = words(text)\n"
            "    for word in sorted(counted):\n        print(word, counted[word])",
        },
        "odd": {
            "words": "%%time\ndef words(text):\n    return dict(Counter(text.split()))",
            "first": "name = input('who? ')\nfirst = 'b'",
            "printed": "!ls\nimport sys\ndef report(text):\n    sys.stderr.write('a 1')",
        },
    },
    "tensors": {
        "right": {
            "attend": "def attend(q, k, v):\n"
            "    return (q @ k.T / k.shape[-1] ** 0.5).softmax(-1) @ v",
        },
        "unscaled": {"attend": "def attend(q, k, v):\n    return (q @ k.T).softmax(-1) @ v"},
    },
}

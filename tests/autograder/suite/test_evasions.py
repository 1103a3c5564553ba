"""A note reports code that may evade a rule, but never code that every layer contains."""

from __future__ import annotations

import pytest

from autograder.suite.forbidden_calls import evasions

HARMLESS = (
    "for n in ('W_query', 'W_key'):\n    getattr(self, n)(x)",
    "q, k = (getattr(self, n)(t) for n, t in (('W_query', x), ('W_key', context)))",
    "NAMES = ('W_query', 'W_key')\nlayers = [getattr(self, name) for name in NAMES]",
    "[getattr(self, f'W_{n}')(x) for n in names]",
    "[getattr(self, 'W_' + n) for n in 'query key'.split()]",
    "for name, size in {'W_query': 3}.items():\n    getattr(self, name)(size)",
    "bias = getattr(config, 'bias', True)",
    "getattr(torch, 'exp')(x)",
    "for n, m in [('attention', 'norm1'), ('feed_forward', 'norm2')]:\n    getattr(self, n)",
    "norms = [getattr(self, f'norm{i}') for i in (1, 2)]",
    "for i in range(1, 3):\n    setattr(self, f'norm{i}', getattr(self, f'layer_norm{i}'))",
    "for i in range(n):\n    getattr(self, f'norm{i}')",
    "for i, name in enumerate(('norm', 'W')):\n    getattr(self, f'{name}_{i}')",
    "for i, layer in enumerate(self.layers):\n    getattr(self, f'norm{i}')",
    "with torch.profiler.record_function('attend'):\n    pass",
    "with torch.autograd.profiler.record_function('attend'):\n    pass",
    "from torch.profiler import record_function",
    "vars(self).update(sizes)",
    "globals().update(answers)",
    "self.__dict__['parent'] = parent",
    "layer.eval()",
    "import torch\n@torch.compile\ndef f(x): return x",
    "import re\nWORD = re.compile('a')",
    "for layer in self.modules():\n    pass",
    "import sys\nIN_COLAB = 'google.colab' in sys.modules",
    "if '__file__' in globals():\n    pass",
    "import gc\ngc.collect()",
    "ops = {'add': add}\nops['add'](x)",
)
REASONS = {
    "getattr(torch, name)": "getattr",
    "getattr(torch, f'soft{rest}')": "getattr",
    "getattr(torch, *names)": "getattr",
    "for n in ('attention', 'norm1'):\n    getattr(torch.nn, n)": "getattr",
    "for i in range(2, 3):\n    getattr(torch.nn, f'Softmax{i}d')": "getattr",
    "for i in (1, 2):\n    getattr(torch.nn, f'Softmax{i + 1}d')": "getattr",
    "for i in (1, n):\n    getattr(torch.nn, f'Softmax{i}d')": "getattr",
    "for i in range(n):\n    getattr(torch.nn, f'Softmax{i}d')": "getattr",
    "i = 1\ni += 1\ngetattr(torch.nn, f'Softmax{i}d')": "getattr",
    "vars(self).update(vars(torch))": "vars",
    "for i, n in enumerate(names):\n    getattr(torch, n)": "getattr",
    "torch.autograd.profiler.profile()": "profiler",
    "from torch.profiler import profile, record_function": "profiler",
    "for a in range(9):\n    getattr(torch, f'{a}{a}{a}{a}{a}{a}{a}{a}{a}')": "getattr",
    "for n in ('a', '_refs'):\n    getattr(torch, n)": "getattr",
    "for n in ('soft',):\n    getattr(torch, n + 'max')": "getattr",
    "for n in ('a', 'b'):\n    pass\ndef f(n): getattr(torch, n)": "getattr",
    "n = 'a'\nn += 'b'\ngetattr(torch, n)": "getattr",
    "if (n := f()):\n    getattr(torch, n)": "getattr",
    "names = ['a']\nnames.append(f())\n[getattr(torch, n) for n in names]": "getattr",
    "look = getattr\nlook(torch, 'softmax')": "getattr",
    "vars(torch)[key]": "vars",
    "vars(torch)['_refs']": "vars",
    "torch.__dict__[key]": "__dict__",
    "import sys\nsys.modules['torch._refs']": "modules",
    "eval('x')": "eval",
    "compile(text, '', 'exec')": "compile",
    "import gc\ngc.get_objects()": "get_objects",
    "from torch import *\nops.aten": "ops",
    "torch.ops.aten": "ops",
}


@pytest.mark.parametrize("code", HARMLESS)
def test_code_of_every_layer_is_not_a_reason_to_look(code: str) -> None:
    assert evasions(code) == ()


@pytest.mark.parametrize("code", REASONS)
def test_code_that_may_call_anything_is_a_reason_to_look(code: str) -> None:
    assert evasions(code) == (REASONS[code],)

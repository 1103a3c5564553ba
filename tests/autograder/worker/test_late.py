"""Some parts of torch are loaded only when they are used."""

import json
import subprocess
import sys

#: code that prints the effects of loading the kernels, and which uses work without them
SCRIPT = """
import gc, json, os, sys
gc.disable()
from autograder.worker import late
late.defer()
import torch
from autograder.worker import answering, execution

def table():
    dumped = map(torch._C._dispatch_dump, torch._C._dispatch_get_all_op_names())
    return {line for lines in dumped for line in lines.split("\\n")}

def changed():
    before = table()
    late.load_kernels()
    kinds = {line.split(":")[0].split(" ")[0] for line in table() ^ before}
    return sorted(kinds - {"MPS"})  # of a computer that grades nothing

def are_there():
    return "torch._refs" in sys.modules

def normed(x):
    return torch.nn.functional.batch_norm(x, None, None, training=True)

def named():
    worker = answering.Worker(lambda request: None)
    worker.operations["load"]("module", '''
import torch
def normed():
    x = torch.ones(2, 3, 4, device="meta")
    return torch.nn.functional.batch_norm(x, None, None, training=True)
''', 0)
    return str(vars(worker._module)["normed"]().device)

def usual():
    layer = torch.nn.Linear(4, 4)
    execution.move(layer, None, "meta")
    value, _ = execution.call(layer, [torch.ones(2, 3, 4, device="meta")])
    return [str(value.device), are_there()]

def moved():
    class Layer(torch.nn.BatchNorm1d):
        def _apply(self, fn, recurse=True):
            super()._apply(fn, recurse)
            normed(torch.ones(2, 3, 4, device=self.weight.device))
            return self

    layer = Layer(3)
    execution.move(layer, None, "meta")
    return [str(layer.weight.device), are_there()]

def missing():
    try:
        execution.call(lambda x: x.nonzero(), [torch.ones(2, device="meta")])
    except NotImplementedError:
        return are_there()

def looked_up():
    import inspect, torch._decomp.decompositions as own, torch._meta_registrations as kernels
    inspect.getmodule(late)
    same = own is torch._decomp.decompositions and torch._refs is sys.modules["torch._refs"]
    return [same, str(kernels.meta_bmm.__name__)]

def gradients():
    layer = torch.nn.Linear(3, 3)
    x, ones = torch.ones(2, 3), torch.ones(2, 3)
    for ways in ((), ("results",), ("backward",), ("results", "backward")):
        execution.gradients(layer, [x], ones, (), ways)
        execution.gradients(torch.exp, [x], None, (), ways)
    return [are_there(), "sympy" in sys.modules]

def shapes():
    return [are_there(), torch.broadcast_shapes((2, 1), (3,))]

def mapped():
    return torch.vmap(torch.sum)(torch.ones(2, 3)).tolist()

def generator():
    return torch.rand(1, generator=torch.Generator().manual_seed(1)).item() < 1

for use in (changed, named, usual, moved, missing, looked_up, gradients, shapes, mapped, generator):
    if not os.fork():
        print(json.dumps([use.__name__, use()]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_delayed_kernels_change_only_the_meta_device_until_used() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert dict(map(json.loads, run.stdout.splitlines())) == {
        "changed": ["Meta"],
        "named": "meta",
        "usual": ["meta", False],
        "moved": ["meta", True],
        "missing": True,
        "looked_up": [True, "meta_bmm"],
        "gradients": [False, False],  # otherwise `backward` would load sympy in each worker
        "shapes": [False, [2, 3]],
        "mapped": [3.0, 3.0],
        "generator": True,
    }, run.stderr

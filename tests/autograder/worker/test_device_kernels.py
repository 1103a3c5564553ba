"""The meta device's kernels wait until something has a use for them; nothing else does."""

import json
import subprocess
import sys

#: prints what changes when the kernels come, and how a process that waits fares with each use
SCRIPT = """
import gc, json, os, sys
gc.disable()
from autograder.worker import device_kernels
device_kernels.defer()
import torch
from autograder.worker import answering, execution

def table():
    dumped = map(torch._C._dispatch_dump, torch._C._dispatch_get_all_op_names())
    return {line for lines in dumped for line in lines.split("\\n")}

def changed():
    before, modules = table(), set(sys.modules)
    device_kernels.load_kernels()
    lines = table() ^ before
    kinds = sorted({line.split(":")[0].split(" ")[0] for line in lines})
    return kinds, len(set(sys.modules) - modules)

def named():
    worker = answering.Worker(lambda request: None)
    worker.operations["load"]("module", '''
import torch
def normed():
    x = torch.ones(2, 3, 4, device="meta")
    return torch.nn.functional.batch_norm(x, None, None, training=True)
''', 0)
    return str(vars(worker._module)["normed"]().device)

def asked():
    def norm(x):
        return torch.nn.functional.batch_norm(x, None, None, training=True)
    return str(execution.call(norm, [torch.ones(2, 3, 4, device="meta")])[0].device)

def moved():
    layer = torch.nn.BatchNorm1d(3)
    execution.move(layer, None, "meta")
    return str(layer(torch.ones(2, 3, 4, device="meta")).device)

def looked_up():
    import inspect, torch._meta_registrations as kernels
    inspect.getmodule(device_kernels)
    return str(kernels.meta_bmm.__name__)

def generator():
    return torch.rand(1, generator=torch.Generator().manual_seed(1)).item() < 1

for use in (changed, named, asked, moved, looked_up, generator):
    if not os.fork():
        print(json.dumps([use.__name__, use()]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_what_waits_is_the_kernels_alone_and_any_use_brings_them() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert dict(map(json.loads, run.stdout.splitlines())) == {
        "changed": [["Meta"], 0],
        "named": "meta",
        "asked": "meta",
        "moved": "meta",
        "looked_up": "meta_bmm",
        "generator": True,
    }, run.stderr

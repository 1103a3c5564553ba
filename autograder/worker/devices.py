"""Makes torch's meta device as strict as a real second device, and no stricter.

Without these rules, the meta device would not show whether a module works after it is moved: on
this device, `masked_fill_` accepts a mask that stayed on the CPU, and an output that was allocated
on the meta device causes the wrong error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from . import compiler, late

#: part of the message in every error about mixed devices
MIXED_DEVICES = "tensors on two devices"

#: part of the message if the tensor is an attribute that `module.to` does not move
PLAIN_ATTRIBUTE = "is a plain attribute, not a buffer"

#: operators whose indices may be on the CPU, whatever the device of the other tensors
_INDEXING = frozenset(
    {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
)
#: operators that copy values from one device to another
_COPYING = frozenset({"aten::copy_", "aten::_to_copy"})


def on_second_device(value: Any) -> Any:
    """Returns a tree whose tensors are on the meta device, which stores no numbers."""
    return tree_map(lambda leaf: leaf.to("meta") if _is_tensor(leaf) else leaf, value)


def second_device(
    tensors: Iterable[torch.Tensor], function: object = None
) -> contextlib.AbstractContextManager[Any]:
    """Within the block, applies the rules of a second device if a tensor is on the meta device.

    `function` is the function or module to call. If a tensor that is a plain attribute of this
    module causes an error, the error message names the attribute.
    """
    if any(tensor.is_meta for tensor in tensors):
        compiler.defer()
        return _SecondDevice(_plain_attributes(function))
    return contextlib.nullcontext()


def _plain_attributes(function: object) -> dict[int, tuple[torch.Tensor, str]]:
    """Returns the tensors that are plain attributes of a module or its submodules, keyed by id."""
    if not isinstance(function, nn.Module):
        return {}
    return {
        id(value): (value, name)
        for module in nn.Module.modules(function)
        for name, value in vars(module).items()
        if _is_tensor(value)
    }


class _SecondDevice(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own class
    """Raises RuntimeError if an operator that needs all tensors on one device gets them on two."""

    def __init__(self, attributes: dict[int, tuple[torch.Tensor, str]]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's own __init__
        #: plain attributes, and tensors computed from them, with the attribute's name, by id; the
        #: tensors are kept alive, so that no id is reused
        self._attributes = attributes

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = func._schema.name
        if name in _COPYING:
            return self._named(args[:1], _copied(func, args, kwargs))
        together = args[:1] + args[2:] if name in _INDEXING else args
        tensors = [leaf for leaf in tree_leaves((together, kwargs)) if _is_tensor(leaf)]
        if not any(map(_is_moved, tensors)):
            return self._named(tensors, func(*args, **kwargs))
        for tensor in tensors:
            if not _is_moved(tensor) and tensor.dim():
                raise RuntimeError(self._error_text(name, tensor))
        if name in _INDEXING:
            return late.on_device(func, *args, **kwargs)
        return late.on_device(func, *tree_map(_moved, args), **tree_map(_moved, kwargs))

    def _named(self, tensors: Sequence[torch.Tensor], result: Any) -> Any:
        """Returns `result`; if it was computed from a plain attribute, records the attribute."""
        if (
            _is_tensor(result)
            and not _is_moved(result)
            and (name := next(filter(None, map(self._name, tensors)), ""))
        ):
            self._attributes[id(result)] = result, name
        return result

    def _name(self, tensor: torch.Tensor) -> str:
        return self._attributes.get(id(tensor), (tensor, ""))[1]

    def _error_text(self, operator: str, tensor: torch.Tensor) -> str:
        """Returns an error message that also names the tensor's plain attribute, if any."""
        attribute = self._name(tensor)
        where = f"; `self.{attribute}` {PLAIN_ATTRIBUTE}" if attribute else ""
        return (
            f"{operator.removeprefix('aten::')} got {MIXED_DEVICES}: one of shape "
            f"{tuple(tensor.shape)} stayed on the {tensor.device.type} when the module was moved"
            f"{where}"
        )


def _copied(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Copies between devices; a copy from the meta device may contain any numbers."""
    if func._schema.name == "aten::copy_":  # type: ignore[attr-defined]
        target, source = args[:2]
        return target if _is_moved(source) and not _is_moved(target) else func(*args, **kwargs)
    device = kwargs.get("device")
    if _is_moved(args[0]) and device is not None and torch.device(device).type != "meta":
        return torch.zeros_like(args[0], device=device, dtype=kwargs.get("dtype"))
    return func(*args, **kwargs)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _is_moved(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_meta


def _moved(value: Any) -> Any:
    return value.to("meta") if _is_tensor(value) and not _is_moved(value) else value

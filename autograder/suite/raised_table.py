"""What Python and torch say, what that shows, and what a student can do about it."""

from __future__ import annotations

_SUPER = (
    "the first line of `__init__` must be `super().__init__()`: it is missing, or the layers are "
    "made above it"
)
_MAX = (
    "`max` and `min` with a dimension return two tensors, values and indices: take `.values`, or "
    "use `amax` and `amin`"
)
_PRODUCT = (
    "the sizes do not fit for a matrix product: (..., n, k) @ (..., k, m) needs the same k twice. "
    "Write the shape next to each tensor; a transpose may be missing, or be one too many"
)
_SIZES = (
    "two tensors of different sizes meet: sizes must be equal, or 1, counted from the right. Write "
    "the shape next to each tensor; `keepdim=True` or `unsqueeze` may be missing"
)
_LEFT_TORCH = (
    "`.item()`, `.numpy()`, `.tolist()` and `float(...)` leave torch, and gradients end there, as "
    "with `.detach()` and `torch.no_grad()`: compute with tensors"
)
_DTYPE = (
    "tensors of different dtypes meet: give what you make yourself the dtype of the input, such "
    "as `torch.zeros(..., dtype=x.dtype)`"
)
_ALONE = (
    "each exercise's file stands alone: it can import torch, the standard library and what its "
    "stub imports, but no other exercise. Copy what you need into this file"
)

#: also said of a function of the student's own
OTHER_ARGUMENTS = "a function is called with other arguments than it takes"

#: of what is raised: a pattern, what it shows, and what to do
TABLE: tuple[tuple[str, str, str], ...] = (
    (
        r"__init__\(\) call|has no attribute '_(modules|parameters|buffers)'",
        "`super().__init__()` is missing, or comes too late",
        _SUPER,
    ),
    (
        r"return_types\.(max|min)|'(max|min)' object",
        "two results are taken for one tensor",
        _MAX,
    ),
    (
        r"not tuple",
        "several results are taken for one tensor",
        "one tensor is needed here, and a tuple came: what does the call return whose result this "
        "is? `max` and `min` with a dimension return two tensors, and a layer may return several",
    ),
    (r"No module named|could not be imported", "a module is imported that is not there", _ALONE),
    (
        r"^(NameError|UnboundLocalError): .*'(?P<name>\w+)'",
        "a name is used that has no value",
        "`{name}` has no value at that line: is it misspelt, or is it defined under another name?",
    ),
    (
        r"NoneType",
        "None is used where a value is needed",
        "one of the values is None: a function that you call may have no `return`, or an argument "
        "is not given",
    ),
    (
        r"object has no attribute '(?P<name>\w+)'",
        "an attribute is used that is not there",
        "there is no `{name}` there: compare the name with the one that `__init__` gives, or with "
        "torch's documentation",
    ),
    (
        r"shapes? cannot be multiplied|batch[12]? tensor|must match the size of tensor b.*matmul|"
        r"inconsistent tensor size|size mismatch",
        "the sizes of a matrix product do not fit",
        _PRODUCT,
    ),
    (
        r"must be a (matrix|vector|[123]-?D)|[123]D tensors expected",
        "a product gets a tensor with another number of dimensions than it takes",
        "`dot` takes two vectors, `mm` and `.T` take matrices, `bmm` takes three dimensions each: "
        "`@` and `transpose(-2, -1)` fit any number of leading ones",
    ),
    (
        r"must match except in|expects each tensor to be equal size",
        "parts of different sizes are put together",
        "`cat` needs parts whose sizes are equal but for the dimension that it runs along, `stack` "
        "needs equal ones: print their shapes",
    ),
    (
        r"must match the (size|existing size)|not broadcastable|expand\(",
        "tensors of different sizes meet",
        _SIZES,
    ),
    (
        r"invalid for input of size|shape .* is invalid",
        "a new shape holds more or fewer numbers than there are",
        "a new shape must hold just as many numbers as the old one: multiply its sizes and compare",
    ),
    (
        r"view size is not compatible",
        "`view` is used where memory is in another order",
        "after a transpose memory is not in that order: `reshape` copies where `view` can't",
    ),
    (
        r"Dimension out of range|dimension .* out of|number of dims|too many indices",
        "a dimension is used that the tensor does not have",
        "the tensor has another number of dimensions than this line counts on: dimensions counted "
        "from the right (-1, -2) fit any number of leading ones",
    ),
    (
        r"out of (bounds|range)",
        "an index is too large",
        "an index is too large: is it a size that is built in, does a loop go one step too far, "
        "or has the tensor fewer dimensions?",
    ),
    (
        r"does not require grad|Can't call numpy|requires grad\. Use",
        "gradients end before the result",
        _LEFT_TORCH,
    ),
    (
        r"in-?place operation|is being used in an in-place",
        "an operation in place changes what the gradient needs",
        "an operation in place (`x -= ...`, `x[...] = ...`, a name ending in `_`) changes what the "
        "gradient still needs: work on a new tensor",
    ),
    (
        r"same dtype|expected scalar type|expected .* dtype|to have the same|Double.*Float",
        "tensors of different dtypes meet",
        _DTYPE,
    ),
    (
        r"[Oo]nly one element tensors|Boolean value of Tensor|only integer tensors|"
        r"can be converted to (Python|a) scalar",
        "several numbers are used where Python wants one",
        "here Python wants one number (`if`, `int`, `range`, `math.sqrt`), and a tensor with "
        "several came",
    ),
    (
        r"object is not callable",
        "something is called that is no function or layer",
        "what stands before the brackets is no function and no layer: parameters and tensors are "
        "used with `@` and `*`, and `x.shape` is no call",
    ),
    (
        r"invalid combination of arguments|must be Tensor, not|argument '\w+' .*must be",
        OTHER_ARGUMENTS,
        "a function of torch gets other arguments here than it takes: some need a dimension, as "
        "`torch.softmax(x, dim=-1)`, and a number is no tensor: `math.sqrt` takes numbers, "
        "`torch.sqrt` tensors",
    ),
    (
        r"values to unpack",
        "more or fewer values come than there are names for them",
        "there are more or fewer values than names on the left of `=`: print the shape, or what "
        "the call returns",
    ),
    (
        r"^ValueError",
        "a call that is right is refused",
        "if it is your own `raise`, its condition refuses a call that is right: compare it with "
        "the docstring; if not, print the shapes just before the line where it stops",
    ),
    (
        r"^RecursionError",
        "the function calls itself without an end",
        "the function calls itself and finds no end: does it call its own name?",
    ),
    (
        r"^AssertionError",
        "an `assert` does not hold",
        "an `assert` of your own code does not hold for this call",
    ),
    (
        r"^ZeroDivisionError",
        "a divisor is 0",
        "a divisor is 0 for this call: which size or number may be 0?",
    ),
    (
        r"^KeyError",
        "an entry is asked for that is not there",
        "a dictionary, or a table of layers, has no entry of that name",
    ),
)

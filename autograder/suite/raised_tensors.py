"""Defines the rows that explain torch's errors about tensors."""

from __future__ import annotations

from ..worker.devices import MIXED_DEVICES, PLAIN_ATTRIBUTE
from .raised_table import OTHER_ARGUMENTS, Row, row

#: errors about sizes, dtypes, devices and gradients
OF_TENSORS: tuple[Row, ...] = (
    row(
        r"^RuntimeError: the result has shape ",  # raised by `worker.execution`
        "the result does not have the shape that the question requires",
        "the result does not have the shape that the question requires: see its docstring",
        is_cause=True,
    ),
    row(
        r"only supports boolean masks|operator\.invert\) is only|with a bool tensor is not supp",
        "numbers are used as a mask, or a mask as numbers",
        "a mask needs the dtype bool: a comparison such as `numbers == 1` makes one, and `~mask` "
        "is its opposite",
        is_cause=True,
    ),
    row(
        r"tri[ul]: input tensor must have at least 2 dim",
        "a vector is used where a matrix is needed",
        "`triu` and `tril` take a matrix, not a vector: `torch.ones(n, n)`",
        is_cause=True,
    ),
    row(
        r"not implemented for '(Long|Int|Short|Byte|Bool)'",
        "integers or booleans are used where floats are needed",
        "this needs floats, but gets integers or booleans: print the dtype just above the line",
        is_cause=True,
    ),
    row(
        r"(?P<function>transpose|swapaxes)\(\) missing",
        "`transpose` is called without its two dimensions",
        "`{function}` takes the two dimensions that it swaps: `.transpose(-2, -1)`",
        is_cause=True,
    ),
    row(
        r"not generator",
        "a generator is used where a list is needed",
        "a list is needed: write `[` and `]` around the loop",
        is_cause=True,
    ),
    row(
        r"has created a parameter",
        "a call creates a parameter",
        "create all parameters in `__init__`: an optimizer that was created before the first call "
        "does not know parameters that are created later. A mask or a table is not a parameter: "
        "`register_buffer` also moves it with the module",
    ),
    row(
        r"[Ii]nference tensor",
        "a result is made in inference mode",
        "a tensor that is created under `torch.inference_mode()` can't be changed by the caller or "
        "used in training: remove `inference_mode`, or use `torch.no_grad()` where no gradient is "
        "needed",
    ),
    row(
        r"einsum\(\)",
        "the letters in `einsum` do not match its operands",
        "`einsum` needs one letter for each dimension of each operand (`...` for leading "
        "dimensions), a comma between operands, and `->` before the letters of the result",
    ),
    row(
        r"Given normalized_shape",
        "a norm gets vectors of a different length than it was made for",
        "a norm is created with the length of its vectors, which is the size of the last "
        "dimension: print the shape just above this line",
    ),
    row(
        r"same dtype|expected scalar type|expected .* dtype|dtype .* but got|to have the same|"
        r"Double.*Float|result type \w+ can't be cast",
        "tensors of different dtypes are combined",
        "tensors of different dtypes are combined: create your own tensors with the dtype of the "
        "input, such as `torch.zeros(..., dtype=x.dtype)` or `x.new_zeros(...)`",
    ),
    row(
        r"shapes? cannot be multiplied|mat1 and mat2|batch[12]? tensor|"
        r"must match the size of tensor b.*matmul|inconsistent|size mismatch",
        "the sizes of a matrix product do not fit",
        "the sizes do not fit a matrix product: (..., n, k) @ (..., k, m) needs the same k "
        "twice. Print the shape of each factor just above this line: is a transpose missing, or "
        "is there one too many?",
    ),
    row(
        r"must be a (matrix|vector|[123]-?D)|[123]D tensors|expected 2D|but found \d-?D|"
        r"vector and matrix|both arguments to (linear|matmul)",
        "a product gets a tensor with the wrong number of dimensions",
        "`dot` takes two vectors, `mm` and `.T` take matrices, `bmm` takes tensors of three "
        "dimensions: `@` and `transpose(-2, -1)` work with any number of leading dimensions",
    ),
    row(
        r"must match except in|expects each tensor to be equal size|Tensors must have same number",
        "parts of different sizes are combined",
        "`cat` needs tensors whose sizes are equal except in the dimension along which it joins "
        "them, and `stack` needs tensors of equal shape: print their shapes",
    ),
    row(
        r"must match the (size|existing size)|broadcast|expand\(|number of sizes provided",
        "the sizes of two tensors do not match",
        "the sizes of two tensors do not match: sizes must be equal, or 1, counted from the right. "
        "Print the shape of each part just above this line; does one need a new dimension "
        "(`x[:, None]`, `keepdim=True`), or a transpose?",
    ),
    row(
        r"invalid for input of size|shape .* is invalid|can't be divided",
        "a new shape has room for more or fewer numbers than there are",
        "a new shape must have room for exactly as many numbers as the old one: multiply its "
        "sizes and compare",
    ),
    row(
        r"view size is not compatible",
        "`view` is used where memory is in a different order",
        "after `transpose`, the numbers are no longer in order in memory, as `view` requires: "
        "`reshape` makes a copy if `view` can't be used",
        is_cause=True,
    ),
    row(
        r"only supported on matrices",
        "a tensor with fewer than two dimensions is transposed",
        "the tensor has fewer than two dimensions here: without `dim`, `repeat_interleave`, `sum`, "
        "`mean` and `max` work on all numbers at once. Print the shape after each line above",
    ),
    row(
        r"Dimension out of range|dimension .* out of|number of dims|too many indices",
        "a dimension is used that the tensor does not have",
        "the tensor has a different number of dimensions than this line expects: dimensions "
        "counted from the right (-1, -2) work with any number of leading dimensions",
    ),
    row(
        r"out of (bounds|range)",
        "an index is out of range",
        "an index is out of range: is a size hard-coded, does a loop run one step too far, or "
        "does the tensor have fewer dimensions?",
    ),
    row(
        r"does not require grad|Can't call numpy|requires grad\. Use",
        "the gradient is cut off before the result",
        "`.item()`, `.numpy()`, `.tolist()`, `float(...)` and NumPy functions leave torch, and "
        "gradients end there, as with `.detach()`, `.data`, `torch.tensor(...)` of results and "
        "`torch.no_grad()`: compute with tensors",
    ),
    row(
        r"in-?place operation|is being used in an in-place|modified by an inplace|"
        r"does not support in-?place",
        "an in-place operation changes what the gradient needs",
        "an in-place operation (`x -= ...`, `x[...] = ...`, a name ending in `_`) changes a tensor "
        "that is still needed for the gradient: make a new tensor",
    ),
    row(
        r"[Oo]ne element tensors|Boolean value of Tensor|a Tensor with \d+ elem|"
        r"only integer tensors|can be converted to (Python|a) scalar",
        "several numbers are used where Python needs one",
        "here Python needs one number (`if`, `int`, `range`, `math.sqrt`) but got a tensor with "
        "several. Work on whole tensors: `torch.where`, `masked_fill`, `sum`, `any`, `all`",
    ),
    row(
        r"can't allocate memory|MemoryError",
        "a tensor does not fit in memory",
        "a tensor does not fit in memory: print the sizes with which it is created",
    ),
    row(
        r"item\(\) cannot be called on meta|Cannot copy out of meta|meta device type tensor",
        "numbers leave the device that they are on",
        "values are copied to a different device here (for example by `x[...] = ...`), or become "
        "plain Python numbers (by `.item()` or `.tolist()`): compute with tensors, on the device "
        "of the input",
    ),
    row(
        rf"`self\.(?P<name>\w+)` {PLAIN_ATTRIBUTE}",
        "a mask or table is a plain attribute, and stays behind when the module is moved",
        "`module.to(device)` moves parameters and buffers only, so `self.{name}` stays behind: "
        'write `self.register_buffer("{name}", ...)` in `__init__`',
        is_cause=True,
    ),
    row(
        rf"\bmeta\b|{MIXED_DEVICES}|Expected all tensors to be on the same device",
        "a tensor is created on a different device than the input",
        "a tensor that you create is on a different device than the input: create it "
        "with `device=x.device`, or register it as a buffer",
        is_cause=True,
    ),
    row(
        r"invalid combination of arguments|must be Tensor, not|argument '\w+' .*must be|"
        r'positional arguments: "',
        OTHER_ARGUMENTS,
        "a function of torch is called with arguments that it does not accept: look at their "
        "names, order and types. Some functions need a dimension, as in `torch.softmax(x, "
        "dim=-1)`; `math.sqrt` takes numbers, `torch.sqrt` takes tensors",
    ),
)

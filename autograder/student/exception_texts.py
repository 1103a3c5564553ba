"""What exceptions of Python and torch mean for a student, by what they say."""

from __future__ import annotations

import re

_SHAPES = (
    "the shapes do not fit in this line. Print the shape of each part just above it. For `a @ b` "
    "the last dimension of `a` must be the second last one of `b`; count dimensions from the end "
    "(-1, -2), so that batches in front change nothing"
)
_ELEMENTWISE = (
    "the shapes do not fit in this line: sizes are compared from the right, and only a size of 1 "
    "is repeated. Print the shape of each part just above it. Does one need a new dimension "
    "(`x[:, None]`, `keepdim=True`), or a transpose?"
)
_ONE_NUMBER = (
    "a tensor of several numbers stands where Python needs one. Work on whole tensors: "
    "torch.where, masked_fill, sum, any, all"
)
_PAIR = (
    "with a dimension, `max`, `min`, `median` and `sort` give two things, values and indices: take "
    "`.values`"
)
_NONE = (
    "something is None here: a helper or `forward` without `return`, or the result of a call that "
    "changes a list in place (`append`)"
)
_IN_PLACE = (
    "an operation in place (`x -= ...`, `x[...] = ...`, a name that ends in `_`) changed what the "
    "gradient needs. Make a new tensor instead"
)
_DTYPE = (
    "two dtypes meet. Give what you make yourself the dtype of the input: `torch.zeros(..., "
    "dtype=x.dtype)`, or start from the input (`x.new_zeros(...)`)"
)
_RECURSION = (
    "the function calls itself and never ends. Does a name of yours hide the function that you "
    "meant to call?"
)

_EINSUM = (
    "`einsum` wants one letter for each dimension of each operand (`...` for those in front), a "
    "comma between operands, and `->` before the letters of the result"
)
_ARGUMENTS = (
    "a function of torch was called with other arguments than it takes: look at their names, "
    "their order and their types where the notebook calls it"
)
_KWARG = "torch has no argument of that name there: look at how the call is written in the notebook"

#: the first pattern that is found in "Type: text" decides
TEXTS = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (
            r"before Module\.__init__\(\) call|has no attribute '_(parameters|modules|buffers)'",
            "write `super().__init__()` as the first line of `__init__`: it must run before "
            "anything is assigned to `self`",
        ),
        (
            r'missing the required "forward"',
            "the class has no method `forward`: is it spelled so, and indented inside the class?",
        ),
        (r"einsum\(\)", _EINSUM),
        (
            r"CUDA|cuda",
            'the checks run on the processor: leave `.cuda()` and `.to("cuda")` out',
        ),
        (r"NoneType", _NONE),
        (r"return_types|'tuple' object has no attribute|NotImplementedError: .*tuple", _PAIR),
        (r"must match the (size of tensor|existing size)|broadcast", _ELEMENTWISE),
        (
            r"mat1 and mat2|batch[12] tensor|size mismatch|inconsistent tensor|"
            r"same number of dimensions|shapes cannot be multiplied|"
            r"1D tensors expected|must be a matrix|expected 2D|but found \d-?D|2D tensors|"
            r"Sizes of tensors must match|both arguments to (linear|matmul)|vector and matrix|"
            r"number of sizes provided|Given normalized_shape|inconsistent",
            _SHAPES,
        ),
        (
            r"is invalid for input of size|can't be divided|shape .* is invalid",
            "`reshape` and `view` keep the number of entries: the sizes must multiply to the same "
            "product as before",
        ),
        (
            r"view size is not compatible",
            "`view` needs the numbers in memory order, and `transpose` changed it: use `reshape`",
        ),
        (
            r"Dimension out of range|too many indices|index \d+ is out of bounds for dim",
            "the tensor does not have that many dimensions or entries. Count dimensions from the "
            "end (-1, -2) and print the shape just above this line",
        ),
        (r"unpack", "as many names as there are values: print the shape; `B, T, d = x.shape`"),
        (
            r"modified by an inplace|leaf [Vv]ariable .*in-place|in-place operation|"
            r"does not support in-?place",
            _IN_PLACE,
        ),
        (
            r"Can't call numpy\(\)|numpy\.ndarray|__array__|'numpy",
            "stay with torch: a NumPy array can't carry a gradient, and other devices have none",
        ),
        (
            r"does not require grad and does not have a grad_fn",
            "the result carries no gradient: `.item()`, `.detach()`, `.data`, `torch.tensor(...)` "
            "of results, and `torch.no_grad()` cut it off",
        ),
        (
            r"one element tensors can be converted|Boolean value of Tensor|a Tensor with \d+ elem|"
            r"only integer tensors of a single element",
            _ONE_NUMBER,
        ),
        (r"same dtype|expected scalar type|result type \w+ can't be cast|dtype .* but got", _DTYPE),
        (
            r"'Tensor' object is not callable",
            "a tensor stands in front of `(`: an operator is missing (`a * (b)`), square brackets "
            "were meant, or is its name used for a value, too?",
        ),
        (
            r"'Parameter' object is not callable",
            "a parameter is a matrix, and is not called: `x @ self.W_query`",
        ),
        (
            r"unsupported operand type.*'Linear'|'Linear' object is not subscriptable",
            "a layer is called with its input: `self.W_query(x)`",
        ),
        (
            r"'\w+' object is not callable",
            "what stands in front of `(` is not a function: is its name used for a value, too?",
        ),
        (
            r"'(method|builtin_function_or_method|function)' (object )?(is not subscriptable|and)|"
            r"and '(method|builtin_function_or_method|function)'",
            "a function was not called: its brackets `()` are missing, or it is a function of "
            "Python's own (`input`, `sum`) where you meant a value",
        ),
        (
            r"unsupported operand type.*'(list|tuple)'|'list' object has no attribute|"
            r"expected Tensor as element|must be Tensor, not (list|tuple)|can't multiply sequence",
            "a Python list stands where a tensor is needed: `torch.stack(list_of_tensors)` makes "
            "one, and keeps gradients",
        ),
        (r"AttributeError: (cannot assign|can't set)", "give the attribute another name"),
        (r"unexpected keyword argument|multiple values for", _KWARG),
        (
            r"'(int|float)' object is not iterable",
            "a number can't be looped over: `range(n)` gives 0, 1, ..., n - 1",
        ),
        (
            r"'(int|float)' object is not subscriptable",
            "`[...]` stands behind a plain number: print the value in front of it",
        ),
        (
            r"list assignment index out of range",
            "a list has only the places that were appended to it: write `.append(value)`",
        ),
        (r"KeyError", "the dictionary has no such key: print its keys just above this line"),
        (
            r"can't allocate memory|MemoryError",
            "a tensor is larger than the memory: print the sizes that it is made with",
        ),
        (r"ZeroDivisionError", "a divisor is 0 for these arguments: which one, and may it be?"),
        (r"RecursionError", _RECURSION),
        (
            r"UnboundLocalError|cannot access local variable|local variable .* referenced before",
            "the name gets its value in a branch or a loop that did not run in this call, or "
            "further down",
        ),
        (
            r"SystemExit",
            "`exit()` and `quit()` end Python itself: take the call out of your code",
        ),
        (
            r"EOFError|StdinNotImplemented",
            "nobody answers `input()` while checks run: use the arguments of the function",
        ),
        (
            r"BdbQuit",
            "nobody answers a debugger while checks run: take it out, and make the call below "
            "by yourself",
        ),
        (r"AssertionError", "an `assert` of your own does not hold for these arguments"),
        (
            r"meta|Expected all tensors to be on the same device",
            "a tensor that you make is on another device than the input: give it the input's "
            "(`device=x.device`), or register it as a buffer",
        ),
        (
            r"positional arguments: \"|argument '\w+' .*must be|invalid combination of arg",
            _ARGUMENTS,
        ),
    )
)

NOT_TEXT = "this is a file of another kind (an archive, a document, a picture): save code as text"
#: lines that are no Python, by how they begin
NOT_PYTHON = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r">>>|\.\.\. ", "`>>>` and `...` belong to an example that was copied: leave them out"),
        (r"```", "this line belongs to Markdown: leave it out"),
        (r"<<<<<<<|=======|>>>>>>>", "git left both sides of a conflict here: keep one of them"),
        (r"PK\x03|%PDF|\{\\rtf", NOT_TEXT),
        (r"[%!]", "this line works in a notebook only: a module holds Python"),
        (
            r".*[\u00a0\u2018-\u201f\u2013\u2014\u200b\ufeff]",
            "a sign in this line was copied from a text (a quotation mark, a dash, a space): type "
            "it again",
        ),
    )
)

"""Defines a table of errors: patterns of messages, the mistakes that cause them, and advice."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: this sentence is also used about a student's own function
OTHER_ARGUMENTS = "a function is called with arguments that it does not accept"


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of error: a pattern for "Type: text", the mistake that the error shows, and advice.

    The advice may refer to the pattern's named groups in braces, such as `{function}`. If `written`
    is given, the row is only about errors in lines of code that match this pattern. `is_cause`
    means that the mistake is the only possible cause of such an error.
    """

    says: re.Pattern[str]
    shows: str
    to_do: str
    written: re.Pattern[str] | None = None
    is_cause: bool = False

    def fits(self, text: str, line: str) -> bool:
        """Return whether the row is about an error with this text in this line of code."""
        is_written = self.written is None or bool(self.written.search(line))
        return is_written and bool(self.says.search(text))


def row(says: str, shows: str, to_do: str, written: str = "", is_cause: bool = False) -> Row:
    line = re.compile(written) if written else None
    return Row(re.compile(says, re.DOTALL), shows, to_do, line, is_cause)


#: matches the beginning of a call that removes a dimension
_REDUCED = r"\.(?:sum|amax|amin|mean|norm|var)\((?!.*keepdim)[^()]*-?\d"
#: errors whose line of code shows the mistake
OF_LINES: tuple[Row, ...] = (
    row(
        # if neither factor is a batch, torch calls them mat1 and mat2, or mat and vec; errors about
        # batches are from `bmm`, which rejects any other number of dimensions, however they are
        # transposed
        r"^(?!IndexError|.*(?:mat1 and mat2|mat \(.*vec \(|batch[12] must be|view size)).*"
        r"(sizes?|shapes?|[123]-?D|dimension)",
        "`.T` reverses all dimensions of a batch",
        "`.T` is for a single matrix: it reverses all dimensions of a batch. Write "
        "`.transpose(-2, -1)`, which swaps the last two",
        r"\.(T\b|t\(\))",
        is_cause=True,
    ),
    row(
        r"^(?!.*view size).*(sizes?|shapes?|dimension)",
        "the sizes of two tensors do not match",
        "with a batch in front, `transpose(0, 1)` moves the batch: count dimensions from the "
        "right, as in `.transpose(-2, -1)`",
        r"\.transpose\((0, ?1|1, ?0)\)",
    ),
    row(
        r"must match the size",
        "a sum, maximum or mean loses its dimension, so it does not line up with the rows",
        "the sum, maximum or mean of a row loses its dimension, so it no longer lines up with the "
        "row: keep the dimension with `keepdim=True`",
        # the reduced value must be an operand: `(a * b).sum(0)` fails before the reduction
        rf"[\w)\]]\s*[-+*/]\s*([\w.\[\]]|\([^()]*\))*{_REDUCED}|{_REDUCED}[^()]*\)\s*[-+*/]",
        is_cause=True,
    ),
    row(
        r"softmax\(\) (received|missing)|missing.*argument.*'?dim\b",
        "softmax is called without a dimension",
        "softmax needs the dimension along which the weights sum to 1, that of the keys: `dim=-1`",
        r"softmax\((?!.*(\w=|, ?)-?\d)",
        is_cause=True,
    ),
    row(
        r'(?P<function>\w+)\(\) missing \d+ required positional arguments: .*"dim"',
        "a function is called without a dimension",
        "`{function}` needs the dimension along which it works: `dim=-1` is the last one",
        r"^(?!.*\w=-?\d)",  # not a misspelled argument name
        is_cause=True,
    ),
    row(
        r"operand type\(s\) for \^=?: '(int|float)' and '(int|float)'|\"bitwise_xor\w*\" not",
        "`^` is used to compute a power",
        "`^` does not compute a power in Python: write `**`",
        r"\^=?\s*[-(]*\s*[\d.]",  # a number follows, not a mask
        is_cause=True,
    ),
)


#: Python's own errors: names, calls, lists and numbers
OF_PYTHON: tuple[Row, ...] = (
    row(
        r"__init__\(\) call|has no attribute '_(modules|parameters|buffers)'",
        "`super().__init__()` is missing, or comes too late",
        "the first line of `__init__` must be `super().__init__()`: it is missing, has no "
        "parentheses, or something is assigned to `self` above it",
        is_cause=True,
    ),
    row(
        r'missing the required "forward"',
        "the class has no method `forward`",
        "the class has no method `forward`: is its name spelled right, and is it indented inside "
        "the class?",
        is_cause=True,
    ),
    row(
        r"return_types|'(max|min)' object",
        "values and indices are used as one tensor",
        "with a dimension, `max`, `min`, `median` and `sort` return two tensors, values and "
        "indices: take `.values`, or use `amax` and `amin`",
        is_cause=True,
    ),
    row(
        r"not tuple|'tuple' object has no attribute|NotImplementedError: .*tuple|"
        r"unsupported operand type.*'tuple'",
        "several results are used as one tensor",
        "one tensor is needed here, but this is a tuple: which call returned it? "
        "`max` and `min` with a dimension return two tensors (take `.values`), and a layer may "
        "return several",
    ),
    row(
        r"No module named|could not be imported",
        "a module is imported that does not exist",
        "each exercise's file is graded on its own: it can import torch, the standard library and "
        "what its stub imports, but no other exercise. Copy what you need into this file",
    ),
    row(
        r"CUDA (?:enabled|GPU|error|driver)|NVIDIA|device.*\bcuda\b",
        "the code uses a device that this machine does not have",
        'the checks run on the CPU: remove `.cuda()` and `.to("cuda")`',
    ),
    row(
        r"numpy\.ndarray|__array__|'numpy",
        "NumPy is used instead of torch",
        "stay with torch: a NumPy array can't carry a gradient or be moved to another device",
    ),
    row(
        r"UnboundLocalError|cannot access local variable|local variable .* referenced before",
        "a name is used that has no value",
        "the name is assigned in a branch or a loop that did not run in this call, or further down",
    ),
    row(
        r"^NameError: .*'(?P<name>\w+)'",
        "a name is used that has no value",
        "`{name}` has no value at that line: is it misspelled, or is it defined under another "
        "name?",
    ),
    row(
        r"NoneType",
        "None is used where a value is needed",
        "something is None here: a function of yours may have no `return`, an argument may be "
        "missing, or it may be the result of a call that changes a list in place (`append`)",
    ),
    row(
        r"unsupported operand type.*'list'|'list' object has no attribute|"
        r"expected Tensor as element|must be Tensor, not list|can't multiply sequence",
        "a Python list is used where a tensor is needed",
        "there is a Python list where a tensor is needed: `torch.stack(list_of_tensors)` makes "
        "a tensor and keeps gradients",
    ),
    row(
        r"'(int|float)' object is not iterable",
        "a number is looped over",
        "a number can't be looped over: `range(n)` gives 0, 1, ..., n - 1",
    ),
    row(
        r"'(int|float)' object is not subscriptable",
        "a number is indexed like a list or a tensor",
        "`[...]` follows a plain number: print the value in front of it",
    ),
    row(
        r"'(method|builtin_function_or_method|function)' (object )?(is not subscriptable|and)|"
        r"and '(method|builtin_function_or_method|function)'",
        "a function is used where its result is meant",
        "a function was not called: its parentheses `()` are missing, or it is one of Python's "
        "built-in functions (`input`, `sum`) where you meant a value",
    ),
    row(
        r"'types\.SimpleNamespace' object is not subscriptable",
        "an attribute is read like an entry of a dictionary",
        "the object has attributes, not entries: write `config.n_embd`, with a dot",
    ),
    row(
        r"unsupported operand type.*'Linear'|'Linear' object is not subscriptable",
        "a layer is used as if it were a matrix",
        "a layer is called with its input, as in `self.W_query(x)`: `@` and `[...]` do not work "
        "with it",
    ),
    row(
        r"'Parameter' object is not callable",
        "a parameter is called as if it were a layer",
        "a parameter is a matrix: multiply by it (`x @ self.W_query`) instead of calling it",
    ),
    row(
        r"'Tensor' object is not callable",
        "something is called that is not a function or layer",
        "there is a tensor in front of `(`: is an operator missing (`a * (b)`), were square "
        "brackets meant, or is a function's name also used for a value?",
    ),
    row(
        r"object is not callable",
        "something is called that is not a function or layer",
        "the value in front of `(` is not a function: is a function's name also used for a "
        "value? `x.shape` is not a call",
    ),
    row(
        r"cannot assign|can't set attribute|has no setter",
        "an attribute is set that can't be set",
        "give the attribute a different name",
    ),
    row(
        r"object has no attribute '(?P<name>\w+)'",
        "a missing attribute is used",
        "there is no attribute `{name}`: compare the name with those that `__init__` assigns, or "
        "with torch's documentation",
    ),
    row(
        r"unexpected keyword argument|multiple values for",
        OTHER_ARGUMENTS,
        "there is no argument with that name: compare the call with the notebook, or with torch's "
        "documentation",
    ),
    row(
        r"failed to unpack the object|'float' object cannot be interpreted as an integer|"
        r"slice indices must be integers",
        "a size is not a whole number",
        "a size must be an integer, but `/` gives a float, even without a remainder: "
        "`d // n` gives an int",
    ),
    row(
        r"values to unpack|unpack",
        "there are more or fewer values than names for them",
        "there are more or fewer values than names on the left of `=`: print the shape, or the "
        "value that the call returns; `B, T, d = x.shape` needs three dimensions",
    ),
    row(
        r"list assignment index out of range",
        "an index is out of range",
        "a list contains only what was appended to it: write `.append(value)`",
    ),
    row(
        r"^SystemExit",
        "the code exits Python",
        "`exit()` and `quit()` exit Python: remove the call from your code",
    ),
    row(
        r"^(EOFError|StdinNotImplemented)",
        "the code asks for input",
        "`input()` gets no answer while checks run: use the arguments of the function",
    ),
    row(
        r"BdbQuit",
        "the code stops in a debugger",
        "a debugger can't be used while checks run: remove it, and make the call below yourself",
    ),
    row(
        r"^(PermissionError|FileNotFoundError|gaierror|URLError|OSError: \[Errno 30\])|"
        r"strerror: Read-only file system|unable to open (shared memory|(database )?file)|"
        r"not allowed to raise maximum limit",
        "the code uses a file, the network or another process",
        "grading has no access to your files or a network, and your code can neither write files "
        "nor start processes: use only the arguments, and do everything else outside of your "
        "answer",
        is_cause=True,
    ),
    row(
        r"^RuntimeError: printed more than",
        "the code prints too much",
        "is there a `print` inside a loop? Grading stops an answer that prints so much",
        is_cause=True,
    ),
    row(
        r"^RecursionError",
        "the function calls itself without end",
        "the function calls itself without end: does one of your names hide the function that "
        "you meant to call?",
    ),
    row(
        r"^AssertionError",
        "an `assert` fails",
        "an `assert` fails in this line or in what it calls: which condition is not met?",
    ),
    row(
        r"^ZeroDivisionError",
        "a divisor is 0",
        "a divisor is 0 for this call: which size or number may be 0?",
    ),
    row(
        r"^KeyError: .*already exists",
        "a name is given twice in one module",
        "the module already has something with that name: use different names, and let only "
        "`register_buffer` create the attribute",
    ),
    row(
        r"^KeyError",
        "a missing entry is requested",
        "a dictionary, or an `nn.ModuleDict`, has no entry with that name: print its keys just "
        "above this line",
    ),
)

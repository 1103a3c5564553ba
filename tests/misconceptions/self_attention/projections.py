"""Known mistakes in the three projections."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.suite import misconception

# project_qkv: weights are (d_in, d_out)


@misconception(
    "project_qkv",
    confuses="weights stored as (d_in, d_out) and weights stored as (d_out, d_in): the weights are "
    "transposed, although they are stored as (d_in, d_out)",
    hint="Write the shapes one below the other: which two sizes must be equal?",
)
def weights_transposed(inputs, W_query, W_key, W_value):
    return inputs @ W_query.T, inputs @ W_key.T, inputs @ W_value.T


@misconception(
    "project_qkv",
    confuses="tokens as rows and tokens as columns: the inputs are transposed",
    hint="Which dimension of the inputs should get a new size: the tokens, or the entries of each "
    "token?",
)
def inputs_transposed(inputs, W_query, W_key, W_value):
    turned = inputs.transpose(-2, -1)
    return turned @ W_query, turned @ W_key, turned @ W_value


@misconception(
    "project_qkv",
    confuses="x W and W x: the weight is on the wrong side of the product",
    hint="Are the tokens rows or columns of the inputs?",
)
def weight_on_the_left(inputs, W_query, W_key, W_value):
    return W_query @ inputs, W_key @ inputs, W_value @ inputs


@misconception(
    "project_qkv",
    confuses="the order of the results: keys come first",
    hint="In which order does the exercise name the three results?",
)
def keys_first(inputs, W_query, W_key, W_value):
    return inputs @ W_key, inputs @ W_query, inputs @ W_value


@misconception(
    "project_qkv",
    confuses="the order of the results: the values are in the middle of the three results",
    hint="Which of the three results may differ in size from the others?",
)
def values_in_the_middle(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_value, inputs @ W_key


@misconception(
    "project_qkv",
    confuses="queries and keys: queries and keys are both made with W_query",
    hint="In your code, which weight makes the queries, which one the keys, and which one the "
    "values?",
)
def query_weight_for_keys(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_query, inputs @ W_value


@misconception(
    "project_qkv",
    confuses="the weights of keys and values: the values are made with the keys' weights",
    hint="In your code, which weight makes the queries, which one the keys, and which one the "
    "values?",
)
def key_weight_for_values(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_key, inputs @ W_key


@misconception(
    "project_qkv",
    confuses="one weight for all and a weight for each role: one weight is used for queries, keys "
    "and values",
    hint="Change the weights of keys and values. Does your result change?",
)
def query_weight_for_all(inputs, W_query, W_key, W_value):
    queries = inputs @ W_query
    return queries, queries, queries


@misconception(
    "project_qkv",
    confuses="values and inputs: the values are not projected",
    hint="What is the third weight for?",
)
def values_are_the_inputs(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_key, inputs


@misconception(
    "project_qkv",
    confuses="three projections of the inputs with a chain of projections: each projection takes "
    "the result of the one before it",
    hint="From which tensor is each of the three computed?",
)
def projected_one_after_the_other(inputs, W_query, W_key, W_value):
    queries = inputs @ W_query
    keys = queries @ W_key
    return queries, keys, keys @ W_value


@misconception(
    "project_qkv",
    confuses="a tuple of three tensors and one tensor with all numbers side by side: one tensor is "
    "returned instead of three",
    hint="How does `queries, keys, values = project_qkv(...)` unpack your result?",
)
def concatenated_in_one_tensor(inputs, W_query, W_key, W_value):
    return torch.cat([inputs @ W_query, inputs @ W_key, inputs @ W_value], dim=-1)


@misconception(
    "project_qkv",
    confuses="a tuple and a stack: the results are stacked, which requires three equal sizes",
    hint="Does your code still run if values are longer than keys?",
)
def stacked_in_one_tensor(inputs, W_query, W_key, W_value):
    return torch.stack([inputs @ W_query, inputs @ W_key, inputs @ W_value])


@misconception(
    "project_qkv",
    confuses="a tuple and a dict with names: a dict is returned instead of a tuple",
    hint="What do you get when you unpack a dict?",
)
def dict_of_results(inputs, W_query, W_key, W_value):
    return {"queries": inputs @ W_query, "keys": inputs @ W_key, "values": inputs @ W_value}


@misconception(
    "project_qkv",
    confuses="three results and one: only the queries are returned",
    hint="How many results does the exercise name?",
)
def queries_only(inputs, W_query, W_key, W_value):
    return inputs @ W_query


@misconception(
    "project_qkv",
    confuses="cutting a joint product by the sizes of the weights and cutting it into three equal "
    "parts: the joint product is cut into three equal parts",
    hint="d_v may differ from d_k. Where does each of the three parts end?",
)
def cut_into_thirds(inputs, W_query, W_key, W_value):
    together = torch.cat([W_query, W_key, W_value], dim=1)
    return torch.chunk(inputs @ together, 3, dim=-1)


@misconception(
    "project_qkv",
    confuses="a product of matrices and a product of numbers: inputs and weights are multiplied "
    "entry by entry",
    hint="Is each number in your result a sum of products, or a single product?",
)
def elementwise_product(inputs, W_query, W_key, W_value):
    return inputs * W_query, inputs * W_key, inputs * W_value


@misconception(
    "project_qkv",
    confuses="batches with inputs of any number of dimensions: only inputs with three dimensions "
    "work",
    hint="Try a single sentence without a batch dimension, and inputs with two leading dimensions.",
)
def einsum_for_batches_only(inputs, W_query, W_key, W_value):
    return tuple(torch.einsum("btd,dk->btk", inputs, w) for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv",
    confuses="one sentence with inputs of any number of dimensions: only inputs with two "
    "dimensions work",
    hint="Try a batch of two sentences. Which matrix product works for a batch, too?",
)
def matrices_only(inputs, W_query, W_key, W_value):
    return torch.mm(inputs, W_query), torch.mm(inputs, W_key), torch.mm(inputs, W_value)


@misconception(
    "project_qkv",
    confuses="a batch of sentences and one long sentence: a batch is flattened into one long "
    "sentence",
    hint="How many dimensions do the inputs have, and how many does the result have?",
)
def batch_flattened_for_good(inputs, W_query, W_key, W_value):
    flat = inputs.reshape(-1, inputs.shape[-1])
    return flat @ W_query, flat @ W_key, flat @ W_value


@misconception(
    "project_qkv",
    confuses="all sentences and the first one: only the first sentence of a batch is used",
    hint="Change the second sentence only: does your result change?",
)
def first_sentence_only(inputs, W_query, W_key, W_value):
    first = inputs if inputs.dim() == 2 else inputs[:1].expand_as(inputs)
    return first @ W_query, first @ W_key, first @ W_value


@misconception(
    "project_qkv",
    confuses="a contiguous tensor and any memory layout: `view` fails for inputs that are not "
    "contiguous",
    hint="Which method does the same as `view`, but for any memory layout?",
)
def view_of_contiguous_inputs(inputs, W_query, W_key, W_value):
    flat = inputs.view(-1, inputs.shape[-1])
    return tuple((flat @ w).view(*inputs.shape[:-1], -1) for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv",
    confuses="dimensions of size 1 with dimensions that are not needed: dimensions of size one are "
    "dropped from the result",
    hint="What is the shape of the result for a batch of one sentence?",
)
def squeezed(inputs, W_query, W_key, W_value):
    return tuple((inputs @ w).squeeze() for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv",
    confuses="the given weights with copies of their numbers: no gradient flows to the given "
    "weights",
    hint="Does the gradient of your results reach the weights?",
)
def parameters_made_of_the_weights(inputs, W_query, W_key, W_value):
    weights = [nn.Parameter(w.detach().clone()) for w in (W_query, W_key, W_value)]
    return tuple(inputs @ w for w in weights)


@misconception(
    "project_qkv",
    confuses="the given weights and random ones: random weights are used instead of the given ones",
    hint="Does your result change with the numbers in the weights?",
)
def random_weights(inputs, W_query, W_key, W_value):
    torch.manual_seed(123)
    return tuple(inputs @ torch.rand(w.shape).to(w) for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv",
    confuses="the dtype of a result with the precision of its computation: part of the computation "
    "runs in float32, so digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def computed_in_float32(inputs, W_query, W_key, W_value):
    return tuple((inputs.float() @ w.float()).to(inputs.dtype) for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv",
    confuses="projecting and scaling: the queries are already scaled here",
    hint="Which later step needs the square root of the size?",
)
def queries_scaled_already(inputs, W_query, W_key, W_value):
    queries = inputs @ W_query / W_query.shape[-1] ** 0.5
    return queries, inputs @ W_key, inputs @ W_value


@misconception(
    "project_qkv",
    confuses="a projection and a layer with an activation: an activation is applied to the "
    "projections",
    hint="Can a query contain negative numbers?",
)
def activation_added(inputs, W_query, W_key, W_value):
    return tuple(F.relu(inputs @ w) for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv",
    confuses="a copy of the inputs and the caller's tensor: the caller's inputs are changed in "
    "place",
    hint="Print the caller's inputs before and after the call.",
)
def inputs_centred_in_place(inputs, W_query, W_key, W_value):
    results = inputs @ W_query, inputs @ W_key, inputs @ W_value
    inputs -= inputs.mean(dim=-1, keepdim=True)
    return results


# project_qkv_left: weights are (d_out, d_in)


@misconception(
    "project_qkv_left",
    confuses="weights stored (d_out, d_in) and weights stored (d_in, d_out): the weights are used "
    "as if they were stored as (d_in, d_out)",
    hint="Write the shapes one below the other: which two sizes must be equal?",
)
def weights_not_transposed(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_key, inputs @ W_value


@misconception(
    "project_qkv_left",
    confuses="tokens as columns and tokens as rows: the tokens of the result are columns, not rows",
    hint="Which shape is promised: (T, d_k) or (d_k, T)?",
)
def result_not_turned_back(inputs, W_query, W_key, W_value):
    turned = inputs.transpose(-2, -1)
    return W_query @ turned, W_key @ turned, W_value @ turned


@misconception(
    "project_qkv_left",
    confuses="transposing a matrix and reshaping it: a matrix is reshaped where it should be "
    "transposed",
    hint="Does a reshape move numbers to the other side of the diagonal?",
)
def reshaped_instead_of_turned(inputs, W_query, W_key, W_value):
    turned = inputs.transpose(-2, -1)
    return tuple(
        (w @ turned).reshape(*inputs.shape[:-1], w.shape[0]) for w in (W_query, W_key, W_value)
    )


@misconception(
    "project_qkv_left",
    confuses="transposing the weight and reshaping it: the weight is reshaped where it should be "
    "transposed",
    hint="Compare the first row of the matrix that you multiply by and the first column of the "
    "weight.",
)
def weight_reshaped_instead_of_turned(inputs, W_query, W_key, W_value):
    return tuple(inputs @ w.reshape(w.shape[1], w.shape[0]) for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv_left",
    confuses="W x for one token and W X for tokens that are rows: the weight is multiplied by "
    "inputs whose tokens are rows",
    hint="Which dimension of the inputs must be next to `d_in` of the weight?",
)
def weight_times_rows(inputs, W_query, W_key, W_value):
    return W_query @ inputs, W_key @ inputs, W_value @ inputs


@misconception(
    "project_qkv_left",
    confuses="the entries of a token with the tokens of a sentence: in a batch, the products are "
    "summed over the tokens, not over the entries of a token",
    hint="For a batch of two sentences, what is the shape of the tensor that the weight is "
    "multiplied by?",
)
def all_dimensions_turned(inputs, W_query, W_key, W_value):
    dims = tuple(reversed(range(inputs.dim())))
    turned = inputs.permute(dims)
    return tuple((w @ turned).permute(dims) for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv_left",
    confuses="the first two dimensions and the last two: the first two dimensions are swapped "
    "instead of the last two",
    hint="In a batch, what do dimensions 0 and 1 count?",
)
def first_two_dimensions_turned(inputs, W_query, W_key, W_value):
    turned = inputs.transpose(0, 1)
    return tuple((w @ turned).transpose(0, 1) for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv_left",
    confuses="the order of the results: keys come first",
    hint="In which order does the exercise name the three results?",
)
def left_keys_first(inputs, W_query, W_key, W_value):
    return inputs @ W_key.T, inputs @ W_query.T, inputs @ W_value.T


@misconception(
    "project_qkv_left",
    confuses="the order of the results: values come first, then keys and queries",
    hint="In which order does the exercise name the three results?",
)
def left_values_first(inputs, W_query, W_key, W_value):
    return inputs @ W_value.T, inputs @ W_key.T, inputs @ W_query.T


@misconception(
    "project_qkv_left",
    confuses="queries and keys: queries and keys are both made with W_key",
    hint="In your code, which weight makes the queries, which one the keys, and which one the "
    "values?",
)
def left_key_weight_for_queries(inputs, W_query, W_key, W_value):
    return inputs @ W_key.T, inputs @ W_key.T, inputs @ W_value.T


@misconception(
    "project_qkv_left",
    confuses="values of their own size with values as long as keys: values that are longer than "
    "keys are cut off",
    hint="How many numbers does a value have, and where do you read that?",
)
def values_cut_to_the_size_of_keys(inputs, W_query, W_key, W_value):
    d_k = W_key.shape[0]
    return inputs @ W_query.T, inputs @ W_key.T, inputs @ W_value[:d_k].T


@misconception(
    "project_qkv_left",
    confuses="values and inputs: the values are not projected",
    hint="What is the third weight for?",
)
def left_values_are_the_inputs(inputs, W_query, W_key, W_value):
    return inputs @ W_query.T, inputs @ W_key.T, inputs


@misconception(
    "project_qkv_left",
    confuses="a tuple of three tensors and one tensor with all numbers side by side: one tensor is "
    "returned instead of three",
    hint="How does `queries, keys, values = project_qkv_left(...)` unpack your result?",
)
def left_concatenated_in_one_tensor(inputs, W_query, W_key, W_value):
    return inputs @ torch.cat([W_query, W_key, W_value]).T


@misconception(
    "project_qkv_left",
    confuses="cutting a joint product by the sizes of the weights and cutting it into three equal "
    "parts: the joint product is cut into three equal parts",
    hint="Where does the third part begin if values are longer than keys?",
)
def cut_into_equal_parts(inputs, W_query, W_key, W_value):
    joint = inputs @ torch.cat([W_query, W_key, W_value]).T
    return joint.chunk(3, dim=-1)


@misconception(
    "project_qkv_left",
    confuses="batches with inputs of any number of dimensions: only inputs with three dimensions "
    "work",
    hint="Try a single sentence without a batch dimension, and inputs with two leading dimensions.",
)
def left_einsum_for_batches_only(inputs, W_query, W_key, W_value):
    return tuple(torch.einsum("btd,kd->btk", inputs, w) for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv_left",
    confuses="one sentence with inputs of any number of dimensions: only inputs with two "
    "dimensions work",
    hint="Try a batch of two sentences. Which matrix product works for a batch, too?",
)
def left_matrices_only(inputs, W_query, W_key, W_value):
    return tuple(torch.mm(w, inputs.t()).t() for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv_left",
    confuses="a batch of sentences and one long sentence: a batch is flattened into one long "
    "sentence",
    hint="How many dimensions do the inputs have, and how many does the result have?",
)
def left_batch_flattened_for_good(inputs, W_query, W_key, W_value):
    flat = inputs.reshape(-1, inputs.shape[-1])
    return flat @ W_query.T, flat @ W_key.T, flat @ W_value.T


@misconception(
    "project_qkv_left",
    confuses="all sentences and the first one: only the first sentence of a batch is used",
    hint="Change the second sentence only: does your result change?",
)
def left_first_sentence_only(inputs, W_query, W_key, W_value):
    first = inputs if inputs.dim() == 2 else inputs[:1].expand_as(inputs)
    return first @ W_query.T, first @ W_key.T, first @ W_value.T


@misconception(
    "project_qkv_left",
    confuses="dimensions of size 1 with dimensions that are not needed: dimensions of size one are "
    "dropped from the result",
    hint="What is the shape of the result for a batch of one sentence?",
)
def left_squeezed(inputs, W_query, W_key, W_value):
    return tuple((inputs @ w.T).squeeze() for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv_left",
    confuses="the given weights with copies of their numbers: no gradient flows to the given "
    "weights",
    hint="Does the gradient of your results reach the weights?",
)
def layers_with_copied_weights(inputs, W_query, W_key, W_value):
    results = []
    for weight in (W_query, W_key, W_value):
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype)
        layer.weight.data.copy_(weight)
        results.append(layer(inputs))
    return tuple(results)


@misconception(
    "project_qkv_left",
    confuses="a projection with the given weights and a layer with its own random bias: each "
    "projection adds a random bias",
    hint="What does `nn.Linear` add by default?",
)
def layers_with_a_bias(inputs, W_query, W_key, W_value):
    torch.manual_seed(123)
    results = []
    for weight in (W_query, W_key, W_value):
        layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype)
        results.append(inputs @ weight.T + layer.bias)
    return tuple(results)


@misconception(
    "project_qkv_left",
    confuses="float32 with the dtype of the inputs: the results are always float32",
    hint="Which dtype does your result have for float64 inputs?",
)
def left_result_in_float32(inputs, W_query, W_key, W_value):
    return tuple((inputs @ w.T).float() for w in (W_query, W_key, W_value))


@misconception(
    "project_qkv_left",
    confuses="a transposed view and transposing the caller's tensor in place: the caller's weights "
    "are transposed in place",
    hint="Print the weights before and after the call.",
)
def weights_turned_in_place(inputs, W_query, W_key, W_value):
    return inputs @ W_query.t_(), inputs @ W_key.t_(), inputs @ W_value.t_()


@misconception(
    "project_qkv",
    confuses="the inputs with the queries: the keys are computed from the queries",
    hint="From which tensor is each of the three computed?",
)
def keys_of_the_queries(inputs, W_query, W_key, W_value):
    queries = inputs @ W_query
    return queries, queries @ W_key, inputs @ W_value


@misconception(
    "project_qkv_left",
    confuses="values with keys: W_key makes the values as well as the keys",
    hint="In your code, which weight makes the queries, which one the keys, and which one the "
    "values?",
)
def left_key_weight_for_values(inputs, W_query, W_key, W_value):
    return inputs @ W_query.T, inputs @ W_key.T, inputs @ W_key.T

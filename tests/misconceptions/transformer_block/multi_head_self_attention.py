"""Known mistakes in multi-head self-attention."""

import math

import torch
from torch import nn

from autograder.suite import misconception


class _FourLayers(nn.Module):
    """The right layer in steps; each mistake below replaces one of them."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        B, T, _ = x.shape
        return x.reshape(B, T, self.num_heads, self.head_dim).transpose(1, 2)

    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1) / self.head_dim**0.5

    def normalize(self, scores):
        return torch.softmax(scores, dim=-1)

    def merge(self, context):
        B, H, T, d = context.shape
        return context.transpose(1, 2).reshape(B, T, H * d)

    def forward(self, x):
        queries, keys = self.split(self.W_query(x)), self.split(self.W_key(x))
        weights = self.normalize(self.scores(queries, keys))
        return self.out_proj(self.merge(weights @ self.split(self.W_value(x))))


# splitting and merging heads


@misconception(
    "MultiHeadSelfAttention",
    confuses="neighboring columns with every H-th column: in the split, each head gets every H-th "
    "column instead of neighboring ones",
    hint="Number the columns of one token from 0. Which numbers should head 0 get?",
)
class heads_cut_from_every_hth_column(_FourLayers):
    def split(self, x):
        B, T, _ = x.shape
        return x.view(B, T, self.head_dim, self.num_heads).permute(0, 3, 1, 2)


@misconception(
    "MultiHeadSelfAttention",
    confuses="neighboring columns with every H-th column: each head gets every H-th column instead "
    "of neighboring ones, in both the split and the merge",
    hint="The split and the merge undo each other here, but does each head hold the right columns?",
)
class heads_interleaved_both_ways(_FourLayers):
    def split(self, x):
        B, T, _ = x.shape
        return x.view(B, T, self.head_dim, self.num_heads).permute(0, 3, 1, 2)

    def merge(self, context):
        B, H, T, d = context.shape
        return context.permute(0, 2, 3, 1).reshape(B, T, H * d)


@misconception(
    "MultiHeadSelfAttention",
    confuses="putting heads side by side with interleaving their entries: the merged row takes one "
    "entry of each head in turn, instead of one whole head after another",
    hint="In the merged row of a token, which numbers follow the first entry of head 0?",
)
class heads_merged_entry_by_entry(_FourLayers):
    def merge(self, context):
        B, H, T, d = context.shape
        return context.permute(0, 2, 3, 1).reshape(B, T, H * d)


@misconception(
    "MultiHeadSelfAttention",
    confuses="reshaping with moving an axis: the split mixes tokens and heads",
    hint="A reshape keeps the order in which the numbers are read, row by row. Which axis must be "
    "split first, and how does the head axis then get to its position?",
)
class cut_by_reshape_alone(_FourLayers):
    def split(self, x):
        B, T, _ = x.shape
        return x.reshape(B, self.num_heads, T, self.head_dim)


@misconception(
    "MultiHeadSelfAttention",
    confuses="reshaping with moving an axis: the merge mixes tokens and heads",
    hint="Before heads can be side by side in a token's row, which two axes must be swapped?",
)
class merged_by_reshape_alone(_FourLayers):
    def merge(self, context):
        B, H, T, d = context.shape
        return context.reshape(B, T, H * d)


@misconception(
    "MultiHeadSelfAttention",
    confuses="tokens with heads: the heads of one token attend to each other",
    hint="Print the shape of the scores. Which pairs should have a score?",
)
class heads_attend_to_each_other(_FourLayers):
    def split(self, x):
        B, T, _ = x.shape
        return x.reshape(B, T, self.num_heads, self.head_dim)

    def merge(self, context):
        return context.flatten(-2)


@misconception(
    "MultiHeadSelfAttention",
    confuses="one wide head with several narrow ones: num_heads has no effect",
    hint="How would your result change if the number of heads changed?",
)
class one_wide_head(_FourLayers):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, 1)


@misconception(
    "MultiHeadSelfAttention",
    confuses="the axes of batch and heads while merging: batch and heads are swapped in the merge",
    hint="Write the meaning of each axis next to every step of the merge. Which one comes first?",
)
class batch_and_heads_swapped(_FourLayers):
    def split(self, x):
        B, T, _ = x.shape
        return x.reshape(B, T, self.num_heads, self.head_dim).permute(2, 0, 1, 3)

    def merge(self, context):
        H, B, T, d = context.shape
        return context.transpose(1, 2).reshape(B, T, H * d)


@misconception(
    "MultiHeadSelfAttention",
    confuses="heads side by side with the mean of the heads: the heads are averaged instead of "
    "being put side by side",
    hint="After merging, can out_proj still see the result of each head?",
)
class heads_averaged(_FourLayers):
    def merge(self, context):
        return context.mean(dim=1).repeat(1, 1, self.num_heads)


@misconception(
    "MultiHeadSelfAttention",
    confuses="dimensions of size one with dimensions that can be dropped: dimensions of size one "
    "are dropped from the result",
    hint="Try a batch of one sequence, or one token. How many dimensions does the result have?",
)
class squeezed_context(_FourLayers):
    def merge(self, context):
        return super().merge(context).squeeze()


@misconception(
    "MultiHeadSelfAttention",
    confuses="the first sequence with all of them: all queries attend to the keys of the first "
    "sequence",
    hint="Change the first sequence only. Does the result of the second one change?",
)
class keys_of_the_first_sequence(_FourLayers):
    def scores(self, queries, keys):
        return super().scores(queries, keys[:1])


# scores and weights


@misconception(
    "MultiHeadSelfAttention",
    confuses="the model size with the head size in the scaling: the scores are divided by the "
    "square root of the model size, not by that of the head size",
    hint="How many products are added up in one score of one head?",
)
class scaled_by_model_size(_FourLayers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1) / self.d_model**0.5


@misconception(
    "MultiHeadSelfAttention",
    confuses="the head size d with its square root: in total, the scores are divided by d",
    hint="Count every division along the way. For d = 4, what are the scores divided by, and what "
    "should they be divided by?",
)
class scaled_without_root(_FourLayers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1) / self.head_dim


@misconception(
    "MultiHeadSelfAttention",
    confuses="plain with scaled dot products: the scores are not scaled",
    hint="What is done to the scores before softmax, so that they do not become huge in wide "
    "heads?",
)
class not_scaled(_FourLayers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1)


@misconception(
    "MultiHeadSelfAttention",
    confuses="the number of tokens with the head size in the scaling: the scores are divided by "
    "the square root of the number of tokens",
    hint="Should a longer sentence make every score smaller?",
)
class scaled_by_number_of_tokens(_FourLayers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1) / keys.shape[-2] ** 0.5


@misconception(
    "MultiHeadSelfAttention",
    confuses="the square root with its integer part: the square root is truncated to a whole "
    "number",
    hint="Try a head size that is not 1, 4, 9 or 16. What number do you divide by?",
)
class scaled_by_whole_root(_FourLayers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1) / int(math.sqrt(self.head_dim))


@misconception(
    "MultiHeadSelfAttention",
    confuses="dividing with multiplying in the scaling: the scores are multiplied by the square "
    "root, not divided by it",
    hint="Does the scaling make your scores smaller or larger?",
)
class multiplied_by_the_root(_FourLayers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1) * self.head_dim**0.5


@misconception(
    "MultiHeadSelfAttention",
    confuses="rows and columns: the rows of the scores belong to keys instead of queries",
    hint="Row t of the scores should belong to query t. In your code, is it made by W_query or by "
    "W_key?",
)
class keys_score_queries(_FourLayers):
    def scores(self, queries, keys):
        return super().scores(keys, queries)


@misconception(
    "MultiHeadSelfAttention",
    confuses="the query axis with the key axis in softmax: softmax runs over the queries instead "
    "of the keys",
    hint="Sum your weights along each axis. Which sums should be one?",
)
class softmax_over_queries(_FourLayers):
    def normalize(self, scores):
        return torch.softmax(scores, dim=-2)


@misconception(
    "MultiHeadSelfAttention",
    confuses="the axis of heads with the axis of keys in softmax: softmax runs over the heads "
    "instead of the keys",
    hint="Which axis of the scores holds the keys?",
)
class softmax_over_heads(_FourLayers):
    def normalize(self, scores):
        return torch.softmax(scores, dim=1)


@misconception(
    "MultiHeadSelfAttention",
    confuses="the batch axis with the axis of keys in softmax: softmax runs over the batch instead "
    "of the keys",
    hint="Should the weights of one sentence depend on which sentences are in the same batch?",
)
class softmax_over_the_batch(_FourLayers):
    def normalize(self, scores):
        return torch.softmax(scores, dim=0)


@misconception(
    "MultiHeadSelfAttention",
    confuses="scores with weights: the scores are used as weights, without softmax",
    hint="What are the values multiplied by? Add up one row of it: what should the sum be?",
)
class no_softmax(_FourLayers):
    def normalize(self, scores):
        return scores


@misconception(
    "MultiHeadSelfAttention",
    confuses="an encoder with a decoder: the future is masked",
    hint="Is there any token that a token in an encoder may not attend to?",
)
class masked_like_a_decoder(_FourLayers):
    def normalize(self, scores):
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)


@misconception(
    "MultiHeadSelfAttention",
    confuses="this layer with one that has dropout on its weights: the layer applies dropout in "
    "train mode",
    hint="Call the layer twice in train mode with the same input. Should the results differ?",
)
class dropout_on_the_weights(_FourLayers):
    def normalize(self, scores):
        return nn.functional.dropout(super().normalize(scores), 0.1, self.training)


@misconception(
    "MultiHeadSelfAttention",
    confuses="plain numbers with numbers that carry a gradient: W_query and W_key get no gradient",
    hint="Which gradients do W_query and W_key have after a backward pass?",
)
class weights_detached(_FourLayers):
    def normalize(self, scores):
        return super().normalize(scores).detach()


@misconception(
    "MultiHeadSelfAttention",
    confuses="rows and columns of the weights when the values are gathered: rows and columns of "
    "the weights are swapped",
    hint="Token t needs its own row of the weights. Which axis is summed over when the weights mix "
    "the values?",
)
class weights_turned_round(_FourLayers):
    def normalize(self, scores):
        return super().normalize(scores).transpose(-2, -1)


# layers


@misconception(
    "MultiHeadSelfAttention",
    confuses="the keys with the queries: W_key has no effect",
    hint="Change the weights of W_key. Does the result change?",
)
class keys_from_the_query_layer(_FourLayers):
    def forward(self, x):
        queries = keys = self.split(self.W_query(x))
        weights = self.normalize(self.scores(queries, keys))
        return self.out_proj(self.merge(weights @ self.split(self.W_value(x))))


@misconception(
    "MultiHeadSelfAttention",
    confuses="the values with the keys: W_value has no effect",
    hint="Change the weights of W_value. Does the result change?",
)
class values_from_the_key_layer(_FourLayers):
    def forward(self, x):
        queries, keys = self.split(self.W_query(x)), self.split(self.W_key(x))
        weights = self.normalize(self.scores(queries, keys))
        return self.out_proj(self.merge(weights @ keys))


@misconception(
    "MultiHeadSelfAttention",
    confuses="the input with the values: the values are not projected",
    hint="What does W_value do in your code?",
)
class values_not_projected(_FourLayers):
    def forward(self, x):
        weights = self.normalize(
            self.scores(self.split(self.W_query(x)), self.split(self.W_key(x)))
        )
        return self.out_proj(self.merge(weights @ self.split(x)))


@misconception(
    "MultiHeadSelfAttention",
    confuses="the merged heads with the result: out_proj is built but has no effect",
    hint="What is the last step, after the heads are side by side?",
)
class out_proj_not_used(_FourLayers):
    def forward(self, x):
        queries, keys = self.split(self.W_query(x)), self.split(self.W_key(x))
        weights = self.normalize(self.scores(queries, keys))
        return self.merge(weights @ self.split(self.W_value(x)))


@misconception(
    "MultiHeadSelfAttention",
    confuses="attention with the block around it: the input is added to the result",
    hint="What adds the residual: this layer, or the block that uses it?",
)
class residual_inside(_FourLayers):
    def forward(self, x):
        return x + super().forward(x)


@misconception(
    "MultiHeadSelfAttention",
    confuses="layers without bias with layers that have one: W_query, W_key and W_value have no "
    "bias",
    hint="Which four biases does the question name?",
)
class no_biases(_FourLayers):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)


@misconception(
    "MultiHeadSelfAttention",
    confuses="one layer under three names with three layers: W_query, W_key and W_value are one "
    "layer with three names",
    hint="Change one weight of W_query. Does W_key change too?",
)
class one_layer_three_times(_FourLayers):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.W_query = self.W_key = self.W_value = nn.Linear(d_model, d_model)


@misconception(
    "MultiHeadSelfAttention",
    confuses="registered layers with layers that the module does not find: the module does not "
    "find its layers",
    hint="Look at list(module.parameters()). Are all the weights there?",
)
class layers_in_a_dict(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.layers = {
            name: nn.Linear(d_model, d_model)
            for name in ("W_query", "W_key", "W_value", "out_proj")
        }

    def forward(self, x):
        return self.layers["out_proj"](self.layers["W_value"](x))


@misconception(
    "MultiHeadSelfAttention",
    confuses="constants with weights that are trained: there is one trainable parameter too many",
    hint="Which trainable parameters does the module have beyond those of the question?",
)
class trainable_scale(_FourLayers):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.scale = nn.Parameter(torch.tensor(self.head_dim**-0.5))

    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1) * self.scale


# calls


@misconception(
    "MultiHeadSelfAttention",
    confuses="the size of the first input with that of every input: the number of tokens of the "
    "first call is used again",
    hint="Call the layer with five tokens, then with three. Where does your code still keep the "
    "number five?",
)
class tokens_counted_once(_FourLayers):
    tokens = None

    def merge(self, context):
        B, H, T, d = context.shape
        self.tokens = self.tokens or T
        return context.transpose(1, 2).reshape(B, self.tokens, H * d)


@misconception(
    "MultiHeadSelfAttention",
    confuses="scaling the scores with scaling the weights of a layer: the weights of a layer are "
    "scaled again in every call",
    hint="Call the layer twice with the same input. Which of your lines changes the module?",
)
class weights_of_the_layer_scaled_in_place(_FourLayers):
    def forward(self, x):
        with torch.no_grad():
            self.W_query.weight /= self.head_dim**0.5
            self.W_query.bias /= self.head_dim**0.5
        return super().forward(x)

    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1)


@misconception(
    "MultiHeadSelfAttention",
    confuses="float32 with the dtype of the input: a tensor on the way to out_proj is always "
    "float32",
    hint="Call a float64 module with a float64 input. Which of your tensors has a different dtype?",
)
class result_allocated_in_float32(_FourLayers):
    def merge(self, context):
        B, H, T, d = context.shape
        merged = torch.zeros(B, T, H * d)
        for head in range(H):
            merged[..., head * d : (head + 1) * d] = context[:, head]
        return merged


@misconception(
    "MultiHeadSelfAttention",
    confuses="the input with a place for the result: the result is written into the caller's input",
    hint="Is the input after the call the same as before?",
)
class result_written_into_the_input(_FourLayers):
    def forward(self, x):
        x.data.copy_(super().forward(x))
        return x * 1


@misconception(
    "MultiHeadSelfAttention",
    confuses="torch's own layer with the four required layers: torch's own attention layer is used "
    "instead of the four required layers",
    hint="Print the names of the module's parameters. Which of the four layers are there?",
)
class layer_of_torch(nn.MultiheadAttention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads, batch_first=True)

    def forward(self, x):
        return super().forward(x, x, x)[0]


@misconception(
    "MultiHeadSelfAttention",
    confuses="reshaping with moving an axis: the values are reshaped into heads without the "
    "transpose that queries and keys get",
    hint="Fill the values of one sentence with 0, 1, 2, ... Which numbers does head 0 hold?",
)
class values_reshaped(_FourLayers):
    def forward(self, x):
        queries, keys = self.split(self.W_query(x)), self.split(self.W_key(x))
        weights = self.normalize(self.scores(queries, keys))
        B, T, _ = x.shape
        values = self.W_value(x).reshape(B, self.num_heads, T, self.head_dim)
        return self.out_proj(self.merge(weights @ values))


@misconception(
    "MultiHeadSelfAttention",
    confuses="tokens with samples: at each position, the samples of a batch attend to each other",
    hint="Change the first sequence only. Does the result of the second one change?",
)
class attention_over_the_batch(_FourLayers):
    def forward(self, x):
        return super().forward(x.transpose(0, 1)).transpose(0, 1)


@misconception(
    "MultiHeadSelfAttention",
    confuses="a batch of sequences with one long sequence: all tokens of the batch attend to each "
    "other",
    hint="Change the first sequence only. Does the result of the second one change?",
)
class batch_as_one_sequence(_FourLayers):
    def forward(self, x):
        return super().forward(x.reshape(1, -1, self.d_model)).reshape(x.shape)


@misconception(
    "MultiHeadSelfAttention",
    confuses="attention with a block around it: the input is added before out_proj",
    hint="Set the weights of W_value to zero. What should reach out_proj?",
)
class input_added_before_out_proj(_FourLayers):
    def forward(self, x):
        queries, keys = self.split(self.W_query(x)), self.split(self.W_key(x))
        weights = self.normalize(self.scores(queries, keys))
        return self.out_proj(self.merge(weights @ self.split(self.W_value(x))) + x)


@misconception(
    "MultiHeadSelfAttention",
    confuses="the inputs with their projections: W_value is applied to the keys",
    hint="Change the weights of W_key. Do the values change?",
)
class values_made_from_the_keys(_FourLayers):
    def forward(self, x):
        projected = self.W_key(x)
        queries, keys = self.split(self.W_query(x)), self.split(projected)
        weights = self.normalize(self.scores(queries, keys))
        return self.out_proj(self.merge(weights @ self.split(self.W_value(projected))))

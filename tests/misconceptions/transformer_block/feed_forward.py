"""Known mistakes in the feed-forward network."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.suite import misconception


class _TwoLayers(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, d_model)


@misconception(
    "FeedForward",
    confuses="two linear layers in a row with a network: there is no effective activation between "
    "the two layers",
    hint="Two linear layers in a row can be written as one. What keeps that from happening?",
)
class no_activation(_TwoLayers):
    def forward(self, x):
        return self.linear2(self.linear1(x))


@misconception(
    "FeedForward",
    confuses="GELU with ReLU: GELU is used instead of ReLU",
    hint="Which function does the question name, and what does it give for -0.5?",
)
class gelu(_TwoLayers):
    def forward(self, x):
        return self.linear2(F.gelu(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="SiLU with ReLU: SiLU is used instead of ReLU",
    hint="Which function does the question name, and what does it give for -2?",
)
class silu(_TwoLayers):
    def forward(self, x):
        return self.linear2(F.silu(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="leaky ReLU with ReLU: leaky ReLU is used instead of ReLU",
    hint="What remains of a negative number after ReLU?",
)
class leaky_relu(_TwoLayers):
    def forward(self, x):
        return self.linear2(F.leaky_relu(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="tanh with ReLU: tanh is used instead of ReLU",
    hint="Can a large positive number pass through your function unchanged?",
)
class tanh(_TwoLayers):
    def forward(self, x):
        return self.linear2(torch.tanh(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="sigmoid with ReLU: sigmoid is used instead of ReLU",
    hint="Can a large positive number pass through your function unchanged?",
)
class sigmoid(_TwoLayers):
    def forward(self, x):
        return self.linear2(torch.sigmoid(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="softmax with ReLU: the activation is softmax instead of ReLU",
    hint="Should one hidden entry change because another one does?",
)
class softmax(_TwoLayers):
    def forward(self, x):
        return self.linear2(torch.softmax(self.linear1(x), dim=-1))


@misconception(
    "FeedForward",
    confuses="ReLU with a version that stops at 6: hidden entries above 6 become 6",
    hint="Try inputs a hundred times as large. What is the largest hidden entry?",
)
class relu_that_stops_at_six(_TwoLayers):
    def forward(self, x):
        return self.linear2(F.relu6(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="the absolute value with ReLU: negative entries become positive",
    hint="What does ReLU give for -3?",
)
class magnitude(_TwoLayers):
    def forward(self, x):
        return self.linear2(self.linear1(x).abs())


@misconception(
    "FeedForward",
    confuses="the smaller with the larger of an entry and zero: negative entries are kept, and "
    "positive ones become 0",
    hint="Which entries should survive, the positive or the negative ones?",
)
class negative_entries_kept(_TwoLayers):
    def forward(self, x):
        return self.linear2(self.linear1(x).clamp(max=0))


@misconception(
    "FeedForward",
    confuses="the position of ReLU: ReLU comes after the second layer",
    hint="Can an entry of the right result be negative?",
)
class relu_on_the_result(_TwoLayers):
    def forward(self, x):
        return torch.relu(self.linear2(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="one ReLU with one after every layer: ReLU is applied after the second layer as well",
    hint="An entry of the result may be negative. Can it be in your result?",
)
class relu_after_both_layers(_TwoLayers):
    def forward(self, x):
        return torch.relu(self.linear2(torch.relu(self.linear1(x))))


@misconception(
    "FeedForward",
    confuses="the position of ReLU: ReLU comes before the first layer",
    hint="What happens to a token with negative entries before linear1 sees it?",
)
class relu_on_the_input(_TwoLayers):
    def forward(self, x):
        return self.linear2(self.linear1(torch.relu(x)))


@misconception(
    "FeedForward",
    confuses="the network with the block around it: the input is added to the result",
    hint="What adds the residual: this network, or the block that uses it?",
)
class residual_inside(_TwoLayers):
    def forward(self, x):
        return x + self.linear2(torch.relu(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="the network with the block around it: the hidden entries are normalized",
    hint="Which steps does the question name between the two layers?",
)
class hidden_entries_normalised(_TwoLayers):
    def forward(self, x):
        hidden = torch.relu(self.linear1(x))
        return self.linear2(F.layer_norm(hidden, hidden.shape[-1:]))


@misconception(
    "FeedForward",
    confuses="this network with one that has dropout: the network applies dropout in train mode",
    hint="Call it twice in train mode with the same input. Should the results differ?",
)
class dropout_on_the_hidden_entries(_TwoLayers):
    def forward(self, x):
        return self.linear2(F.dropout(torch.relu(self.linear1(x)), 0.1, self.training))


@misconception(
    "FeedForward",
    confuses="layers without bias with layers that have one: the layers have no bias",
    hint="Which weights does the question name?",
)
class no_biases(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim, bias=False)
        self.linear2 = nn.Linear(hidden_dim, d_model, bias=False)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="the usual size of the hidden layer with the given one: the hidden layer is always "
    "four times the model size",
    hint="Where do you use the second argument?",
)
class always_four_times_as_wide(_TwoLayers):
    def __init__(self, d_model, hidden_dim):
        super().__init__(d_model, 4 * d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="the second layer with the first one transposed: the second layer uses the weight of "
    "the first one",
    hint="Does your result depend on the weight of linear2?",
)
class first_weight_used_twice(_TwoLayers):
    def forward(self, x):
        hidden = torch.relu(self.linear1(x))
        return hidden @ self.linear1.weight + self.linear2.bias


@misconception(
    "FeedForward",
    confuses="two layers with three: a third layer is built and never used",
    hint="Count the trainable parameters. Which of them do not belong to linear1 or linear2?",
)
class a_layer_too_many(_TwoLayers):
    def __init__(self, d_model, hidden_dim):
        super().__init__(d_model, hidden_dim)
        self.linear3 = nn.Linear(d_model, d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="a batch of sequences with every possible input: the code works only for inputs with "
    "three dimensions",
    hint="Call the network with tokens of shape (T, D), without a batch. Which line fails?",
)
class three_dimensions_only(_TwoLayers):
    def forward(self, x):
        B, T, D = x.shape
        return self.linear2(torch.relu(self.linear1(x.reshape(B * T, D)))).reshape(B, T, D)


@misconception(
    "FeedForward",
    confuses="a list of tokens with the shape of the input: the leading dimensions are flattened "
    "and not restored",
    hint="What are the shapes of the input and the result?",
)
class leading_dimensions_not_restored(_TwoLayers):
    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x.reshape(-1, x.shape[-1]))))


@misconception(
    "FeedForward",
    confuses="separate tokens with tokens that share numbers: the mean over the tokens is "
    "subtracted",
    hint="Change one token. Should the results of the other tokens change?",
)
class centred_over_the_tokens(_TwoLayers):
    def forward(self, x):
        hidden = self.linear1(x)
        return self.linear2(torch.relu(hidden - hidden.mean(dim=-2, keepdim=True)))


@misconception(
    "FeedForward",
    confuses="plain numbers with numbers that carry a gradient: no gradient reaches the first "
    "layer",
    hint="Does linear1 learn? Look at linear1.weight.grad after a backward pass.",
)
class hidden_entries_detached(_TwoLayers):
    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)).detach())


@misconception(
    "FeedForward",
    confuses="float32 with the dtype of the input: the result is always float32",
    hint="Call a float64 module with a float64 input. Which dtype does the result have?",
)
class float32_only(_TwoLayers):
    def forward(self, x):
        hidden = F.linear(x.float(), self.linear1.weight.float(), self.linear1.bias.float()).relu()
        return F.linear(hidden, self.linear2.weight.float(), self.linear2.bias.float())


@misconception(
    "FeedForward",
    confuses="a batch of one with a dimension that can be dropped: a batch of one loses its "
    "dimension",
    hint="Call the network with a batch of one sequence, and look at the shape.",
)
class squeezed_result(_TwoLayers):
    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x))).squeeze(0)


@misconception(
    "FeedForward",
    confuses="the hidden entries of this call with those of the first one: the hidden entries of "
    "the first call are used again",
    hint="Call the network twice with different inputs. What is kept from the first call?",
)
class hidden_entries_kept(_TwoLayers):
    hidden = None

    def forward(self, x):
        if self.hidden is None or self.hidden.shape[:-1] != x.shape[:-1]:
            self.hidden = torch.relu(self.linear1(x))
        return self.linear2(self.hidden)


@misconception(
    "FeedForward",
    confuses="ELU with ReLU: ELU is used instead of ReLU",
    hint="Which function does the question name, and what does it give for -0.5?",
)
class elu(_TwoLayers):
    def forward(self, x):
        return self.linear2(F.elu(self.linear1(x)))


@misconception(
    "FeedForward",
    confuses="an entry with its square: positive entries are squared",
    hint="What should become of a hidden entry of 3, and what becomes of it?",
)
class relu_squared(_TwoLayers):
    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)).square())


@misconception(
    "FeedForward",
    confuses="ReLU with a function that has an upper limit: hidden entries above one become one",
    hint="What should become of a hidden entry of 3, and what becomes of it?",
)
class entries_cut_at_one(_TwoLayers):
    def forward(self, x):
        return self.linear2(self.linear1(x).clamp(0, 1))


@misconception(
    "FeedForward",
    confuses="the size of an entry with its sign: hidden entries become 0 or 1",
    hint="What should become of a hidden entry of 3, and what becomes of it?",
)
class zero_or_one(_TwoLayers):
    def forward(self, x):
        return self.linear2((self.linear1(x) > 0).to(x.dtype))


@misconception(
    "FeedForward",
    confuses="the network with the norm before it: the input is normalized first",
    hint="Multiply a token by ten. Should the result stay nearly the same?",
)
class input_normalised(_TwoLayers):
    def forward(self, x):
        normed = F.layer_norm(x, x.shape[-1:])
        return self.linear2(F.relu(self.linear1(normed)))

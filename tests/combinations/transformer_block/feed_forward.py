"""Wrong answers written from the questions alone, each with its intended mistake."""

import torch
from torch import nn

from autograder.suite import intended


class _Layers(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, d_model)


@intended("FeedForward", "no ReLU", "no_activation")
class no_relu(_Layers):
    def forward(self, x):
        return self.linear2(self.linear1(x))


@intended("FeedForward", "GELU for ReLU", "gelu")
class gelu(_Layers):
    def forward(self, x):
        return self.linear2(nn.functional.gelu(self.linear1(x)))


@intended("FeedForward", "ReLU at the end", "relu_on_the_result")
class relu_at_the_end(_Layers):
    def forward(self, x):
        return torch.relu(self.linear2(self.linear1(x)))


@intended("FeedForward", "ReLU twice", "relu_after_both_layers")
class relu_twice(_Layers):
    def forward(self, x):
        return torch.relu(self.linear2(torch.relu(self.linear1(x))))


@intended("FeedForward", "the input added", "residual_inside")
class input_added(_Layers):
    def forward(self, x):
        return x + self.linear2(torch.relu(self.linear1(x)))


@intended(
    "FeedForward",
    "layers under other names",
    "the_trained_parameters_have_other_names_than_the_question",
)
class other_names(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.fc1 = nn.Linear(d_model, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


@intended(
    "FeedForward",
    "sizes turned round",
    "two_things_change_places",
    "parameters_of_linear1_and_linear2_have_other_sizes_than_the",
)
class sizes_turned(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(hidden_dim, d_model)
        self.linear2 = nn.Linear(d_model, hidden_dim)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


@intended("FeedForward", "a leaky ReLU", "leaky_relu")
class leaky(_Layers):
    def forward(self, x):
        return self.linear2(nn.functional.leaky_relu(self.linear1(x)))

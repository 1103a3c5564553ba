"""Provides weights for students' layers, and the results with which pictures compare them.

These numbers are here, and not in the notebooks' cells, so that readers see a name instead of a
table of numbers. Results are rounded.
"""

import torch

#: the scores for "journey", divided by their sum
journey_shares = torch.tensor([0.1455, 0.2278, 0.2249, 0.1285, 0.1077, 0.1656])
#: four times these scores, divided by their sum and after softmax
shares_and_softmax = torch.tensor(
    [
        [0.1455, 0.2278, 0.2249, 0.1285, 0.1077, 0.1656],
        [0.0489, 0.4253, 0.3932, 0.0314, 0.0182, 0.0830],
    ]
)
#: the softmax of four rows of scores: high, low, far apart, and partly minus infinity
difficult_weights = torch.tensor(
    [[0.6652, 0.2447, 0.0900], [0.0900, 0.2447, 0.6652], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]]
)

#: W_query, W_key and W_value for products with the weights on the right (x @ W), each (3, 2)
right_weights = (
    torch.tensor([[-0.1115, 0.1204], [-0.3696, -0.2404], [-1.1969, 0.2093]]),
    torch.tensor([[-0.9724, -0.7550], [0.3239, -0.1085], [0.2103, -0.3908]]),
    torch.tensor([[0.2350, 0.6653], [0.3528, 0.9728], [-0.0386, -0.8861]]),
)
#: the query, key and value of "journey" with these weights
journey_views = torch.tensor([[-1.1729, -0.0048], [-0.1142, -0.7676], [0.4107, 0.6274]])
#: W_query, W_key and W_value for products with the weights on the left: (3, 2), (3, 2) and (4, 2)
left_weights = (
    torch.tensor([[0.2961, 0.5166], [0.2517, 0.6886], [0.0740, 0.8665]]),
    torch.tensor([[0.1366, 0.1025], [0.1841, 0.7264], [0.3153, 0.6871]]),
    torch.tensor([[0.0756, 0.1966], [0.3164, 0.4017], [0.1186, 0.8274], [0.3821, 0.6605]]),
)
#: the scores for "journey" from queries and keys of size 2, before and after scaling
query_scores_of_journey = torch.tensor([[1.2705, 1.8524, 1.8111, 1.0795, 0.5577, 1.5440]])
scaled_scores_of_journey = torch.tensor([[0.8984, 1.3098, 1.2806, 0.7633, 0.3944, 1.0918]])
#: the query of "shoes", its attention weights and its context vector
shoes_query = torch.tensor([[1.0321, 1.3501, 1.6555]])
shoes_attention = torch.tensor([[0.0432, 0.5687, 0.1273, 0.0832, 0.0107, 0.0147, 0.1273, 0.0249]])
shoes_context = torch.tensor([[0.2593, 0.5718, 1.0390, 0.9041]])
#: its context vector from three slices of the values
shoes_slices = shoes_context[:, :3]

#: weights for SelfAttentionV1(3, 2), for products with the weights on the right
layer_v1 = {
    "W_query": torch.tensor([[0.2961, 0.5166], [0.2517, 0.6886], [0.0740, 0.8665]]),
    "W_key": torch.tensor([[0.1366, 0.1025], [0.1841, 0.7264], [0.3153, 0.6871]]),
    "W_value": torch.tensor([[0.0756, 0.1966], [0.3164, 0.4017], [0.1186, 0.8274]]),
}
#: weights for the linear layers of SelfAttentionV2(3, 2)
layer_v2 = {
    "W_query": torch.tensor([[0.3161, 0.4568, 0.5118], [-0.1683, -0.3379, -0.0918]]),
    "W_key": torch.tensor([[0.4058, -0.4704, 0.2368], [0.2134, -0.2601, -0.5105]]),
    "W_value": torch.tensor([[0.2526, -0.1415, -0.1962], [0.5191, -0.0852, -0.2043]]),
}

#: `simple_inputs` after attention without a mask, with one head and with two
simple_one_head = [
    [1.25, 0.27, 1.23, 0.37],
    [0.54, 1.29, 0.32, 1.70],
    [0.27, 1.61, 0.22, 1.84],
    [0.65, 0.53, 1.32, 0.63],
    [0.88, 0.34, 1.52, 0.39],
    [0.39, 0.88, 1.35, 0.98],
]
simple_two_heads = [
    [1.49, 0.25, 1.44, 0.57],
    [0.83, 0.83, 0.30, 1.75],
    [0.25, 1.49, 0.30, 1.75],
    [0.67, 0.67, 1.44, 0.57],
    [1.10, 0.45, 1.72, 0.47],
    [0.45, 1.10, 1.64, 0.75],
]
#: `simple_inputs` after an encoder block with two heads
simple_block = [
    [1.44, -1.01, 0.42, -0.85],
    [-0.29, -0.29, -1.07, 1.64],
    [-1.01, 0.89, -0.99, 1.10],
    [-0.55, -0.55, 1.73, -0.63],
    [0.10, -0.85, 1.60, -0.84],
    [-1.11, -0.12, 1.61, -0.38],
]

#: where each French word looks in the English sentence
french_looks = torch.tensor(
    [
        [0.8835, 0.0388, 0.0388, 0.0388],
        [0.0388, 0.0388, 0.8835, 0.0388],
        [0.0388, 0.8835, 0.0388, 0.0388],
        [0.0388, 0.0388, 0.0388, 0.8835],
    ]
)
#: where "dorment" looks: with padding, with padding masked, and with a mistake
dorment_with_padding = torch.tensor([[0.0388, 0.8835, 0.0388, 0.0388]])
dorment_looks = torch.tensor([[0.0421, 0.9579, 0.0, 0.0]])
suspicious_row = torch.tensor([0.0388, 0.8835, 0.0, 0.0])
#: the French words after cross-attention, for the long sentence and for the short one
french_contexts = torch.tensor(
    [
        [2.21, 0.10, 0.10, 0.10],
        [0.10, 2.21, 0.10, 0.10],
        [0.10, 0.10, 2.21, 0.10],
        [0.10, 0.10, 0.10, 2.21],
    ]
)
short_contexts = torch.tensor([[0.0, 2.39, 0.0, 0.11], [0.0, 0.11, 0.0, 2.39]])

#: the radians by which four pairs turn per position, for d = 8 and base 100
speeds_of_four_pairs = [1.0, 0.3162, 0.1, 0.0316]
#: the score of a query and a key, for keys from six positions before the query to six after it
scores_by_distance = [
    *(1.2410, 0.8830, -0.1779, -0.9867, -0.8211, 0.1445, 1.0000),
    *(0.9361, -0.0112, -0.9933, -1.1294, -0.3157, 0.6793),
]

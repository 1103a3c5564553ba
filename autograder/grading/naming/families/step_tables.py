"""Defines names for the ids of those families that the code mentions."""

from __future__ import annotations

from .words import STEPS

CUT = "the_gradient_ends_on_its_way_back_nothing_is_trained"
SINGLE = "something_is_made_float32_whatever_dtype_is_asked_for"
ANOTHER = "one_thing_takes_the_place_of_another"
LEFT_OUT = "one_step_is_left_out"
ARGUMENT_LEFT_OUT = "an_argument_of_a_call_is_left_out"
SWAPPED = "two_things_change_places"
OPERATION = "one_operation_is_another_than_the_one_asked_for"
FUNCTION = "another_function_is_called_than_the_one_asked_for"
NUMBER = "a_number_or_a_switch_is_another_than_the_one_asked_for"
ADDED = "something_is_added_to_the_result_that_does_not_belong_there"
ON_THE_WAY = "another_value_comes_back_than_the_one_that_the_last_step"
CHECK = "a_check_is_left_out_the_error_that_is_asked_for_does_not"
OF_ANOTHER_SIZE = "the_division_is_by_the_root_of_another_number_than_the_one"
OTHER_ERROR = "an_error_of_another_class_is_raised_than_the_one_asked_for"
IN_PLACE = "an_operation_writes_into_the_caller_s_tensor"
TWICE = "a_layer_is_applied_twice"
LAYERS = "two_layers_change_places"
DIAGONAL = "the_border_of_a_mask_lies_some_diagonals_too_far_to_one"
BIAS_LEFT_OUT = "a_layer_has_no_bias_that_should_have_one"
BIAS_TOO_MANY = "a_layer_has_a_bias_that_nobody_asked_for"
OF_PART_OF_SUM = "a_function_is_applied_to_one_part_of_a_sum_not_to_the_whole"
AXIS = "softmax_runs_along_another_dimension_than_the_one_asked_for"

#: families of changes that transpose a side of a product, each with the family that is used instead
#: if that side is already transposed
OF_TURNED = {
    "one_side_of_a_product_is_transposed_that_should_not_be": (
        "one_side_of_a_product_is_not_transposed_that_should_be"
    ),
    "both_sides_of_a_product_are_transposed": "the_wrong_side_of_a_product_is_transposed",
}

#: the families that may apply to any step; any other family has priority over these, and earlier
#: ones have priority over later ones
_ANY_STEP = [key for table in ("wrapped", "returned", "of_arguments") for _, key in STEPS[table]]
ANY_STEP = tuple(dict.fromkeys(key for key in _ANY_STEP if key not in (CUT, SINGLE)))

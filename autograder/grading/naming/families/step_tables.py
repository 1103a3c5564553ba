"""The tables of `steps.toml` by their names in code, and the ids of families used in code."""

from __future__ import annotations

from collections.abc import Mapping

from .words import STEPS, Rows, rows_by_name, rows_of

CUT = "the_gradient_ends_on_its_way_back_nothing_is_trained"
SINGLE = "something_is_made_float32_whatever_dtype_is_asked_for"
ANOTHER = "one_thing_takes_the_place_of_another"
LEFT_OUT = "one_step_is_left_out"
ARGUMENT_LEFT_OUT = "an_argument_of_a_call_is_left_out"
SWAPPED = "two_things_change_places"
OPERATION = "one_operation_is_another_than_the_one_asked_for"
FUNCTION = "another_function_is_called_than_the_one_asked_for"
CONDITION = "a_condition_is_another_than_the_one_asked_for_or_none"
NUMBER = "a_number_or_a_switch_is_another_than_the_one_asked_for"
ADDED = "something_is_added_to_the_result_that_does_not_belong_there"
APPLIED = "a_function_is_applied_to_the_result_that_is_one_too_many"
ON_THE_WAY = "another_value_comes_back_than_the_one_that_the_last_step"
CHECK = "a_check_is_left_out_the_error_that_is_asked_for_does_not"
OF_ANOTHER_SIZE = "the_division_is_by_the_root_of_another_number_than_the_one"
OF_FIRST_CALL = "a_value_of_the_first_call_is_kept_for_all_later_ones"
IN_PLACE = "an_operation_writes_into_the_caller_s_tensor"
ORDER = "two_operations_are_done_in_another_order_as_with"
OVERFLOWS = "exponentials_are_taken_of_numbers_as_they_come_of_large"
DIAGONAL = "the_border_of_a_mask_lies_some_diagonals_too_far_to_one"
BIAS_LEFT_OUT = "a_layer_has_no_bias_that_should_have_one"
BIAS_TOO_MANY = "a_layer_has_a_bias_that_nobody_asked_for"
OF_PART_OF_SUM = "a_function_is_applied_to_one_part_of_a_sum_not_to_the_whole"
PARAMETER = "what_should_not_train_is_a_parameter"
TURNED_SIDE = "one_side_of_a_product_is_transposed_that_should_not_be"
NOT_TURNED = "one_side_of_a_product_is_not_transposed_that_should_be"
AXIS = "softmax_runs_along_another_dimension_than_the_one_asked_for"

#: how a module may keep a value
KEPT = (
    'self.__dict__.setdefault("_first", {e})',
    'self.__dict__.setdefault("_first", ({e}).detach())',
    'self.__dict__.setdefault(("_first", ({e}).shape), {e})',
)
#: changes of any value that is assigned or returned and is not a step itself
WRAPPED = rows_of("wrapped")
#: additional changes of returned values: alone, with an argument `{a}`, with any name `{n}`
RETURNED = rows_of("returned")
WITH_ARGUMENT = rows_of("with_argument")
WITH_NAME = rows_of("with_name")
#: changes of scores by other sizes, and by the size itself; and changes of `1 - {r}`
OF_OTHER_SIZES = rows_of("of_other_sizes")
OF_SCALE = rows_of("of_scale")
OF_THE_REST = rows_of("of_the_rest")
#: changes of operations by their class, and of calls by the last part of their name
OF_OPERATIONS: Mapping[str, Rows] = rows_by_name("of_operations")
OF_CALLS: Mapping[str, Rows] = rows_by_name("of_calls")
#: changes of layers, of parts that are joined, and of any function of a sum
OF_LAYERS = rows_of("of_layers")
OF_PARTS = rows_of("of_parts")
OF_SUMS = rows_of("of_sums")
#: for calls: a keyword, the family, and other values
KEYWORDS: Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    called: tuple((keyword, key, tuple(values)) for keyword, key, values in several)
    for called, several in STEPS["keywords"].items()
}
#: families that may apply to any step; a step's other families have priority over these, and
#: earlier ones over later ones
_ANY_STEP = (*(key for _, key in (*WRAPPED, *RETURNED)), ORDER, OF_FIRST_CALL)
ANY_STEP = tuple(dict.fromkeys(key for key in _ANY_STEP if key not in (CUT, SINGLE)))

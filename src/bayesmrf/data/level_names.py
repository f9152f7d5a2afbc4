"""Names of ways to read the levels of columns without order next to others (`bayesmrf.data.states.check_states`)."""

NOMINAL, MIXED = "nominal", "mixed"  # numbers have no order either, or they have one

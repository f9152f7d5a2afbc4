"""The kinds of columns of a table, a file each: how one is detected, read, and told of."""

"""A table with named columns that is not of pandas, with what polars has in common with it."""

import numpy as np


class Enum:
    """Type of a column of ordered categories."""

    def __init__(self, categories):
        self.categories = categories


class NotOfPandas:
    """A pandas DataFrame without what only pandas has; iteration is over columns."""

    def __init__(self, table):
        self.table = table
        self.columns = list(table.columns)

    def __getitem__(self, name):
        return Column(self.table[name])

    def __iter__(self):
        return iter(self.table.to_numpy(dtype=object).T)

    def __len__(self):
        return len(self.table)

    def to_numpy(self):
        return self.table.to_numpy(dtype=object)


class Column:
    def __init__(self, column):
        categories = getattr(column.dtype, "categories", None)
        self.dtype = column.dtype if categories is None else Enum(categories)
        self.column = column

    def to_numpy(self):
        return self.column.to_numpy(None if self.column.dtype in (np.float16, np.float32) else object)

    def __len__(self):
        return len(self.column)

    def __getitem__(self, row):
        return self.column.iloc[row]

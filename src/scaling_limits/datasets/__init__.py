"""Datasets: `catalogue` says what there is, `preparation` fetches and verifies it, `loading`
turns it into arrays.

A dataset is a module with `INFO` (a `DatasetInfo`), `SOURCES` (the files it is read from; none if
it is bundled or generated) and `decode(payloads) -> Samples`. Nothing is imported here: the
source of `loading` and of one dataset's module decides a cell's numbers, and neither the other
datasets nor the code that downloads do.
"""

"""Datasets: `catalogue` lists them, `preparation` fetches and verifies them, `loading` turns them into arrays.

A dataset is a module with `INFO` (a `DatasetInfo`), `SOURCES` (the files from which it is read; empty if it is bundled
or generated) and `decode(payloads) -> Samples`. Nothing is imported here: the source digest of a cell covers `loading`
and the module of its dataset, but neither the other datasets nor the code that downloads.
"""

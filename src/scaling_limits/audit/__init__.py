"""The audit: claims of the papers as data, judged on the records of their figures."""

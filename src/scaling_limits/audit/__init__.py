"""The audit: claims of the papers, judged on the records of their figures."""

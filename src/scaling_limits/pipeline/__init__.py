"""Functions that the workflow's rules call: computing the cells of jobs, and assembling figures from them."""

"""What the workflow's rules call: jobs that compute cells, and figures assembled from them."""

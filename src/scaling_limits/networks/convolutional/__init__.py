"""Networks of convolutions and dense layers without biases, for images (pc-tp App. E)."""

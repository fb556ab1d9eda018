"""What lives and changes: the shared worker, loaded inputs, kernels, measurements under way."""

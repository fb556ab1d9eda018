"""What PyTorch offers for fully connected layers, compiled with max-autotune on one thread, as references.

Each comes twice: with weights as a product reads them, inputs×outputs, and as ``nn.Linear`` keeps them,
outputs×inputs; the copy in that layout is made once, which is no part of the work.
"""

import functools

import torch

torch.set_num_threads(1)
_tensors = {}


def _tensor(array, turned=False):
    """Return the tensor over an array, or over a copy of it that is transposed; made once."""
    key = (array.ctypes.data, array.shape, turned)
    if key not in _tensors:
        tensor = torch.from_numpy(array)
        _tensors[key] = tensor.T.contiguous() if turned else tensor
    return _tensors[key]


@functools.cache
def _compiled(function):
    """Compile a function once; PyTorch compiles it again for every shape, at its first call."""
    return torch.compile(function, mode="max-autotune", fullgraph=True, dynamic=False)


def _call(function, arguments, turned=()):
    """Call a compiled function on arrays, those at some places transposed."""
    tensors = [_tensor(array, i in turned) for i, array in enumerate(arguments)]
    with torch.inference_mode():
        return _compiled(function)(*tensors).numpy()


def _product_layer(lhs, rhs, bias):
    return torch.relu(lhs @ rhs + bias)


def _linear_layer(lhs, rhs, bias):
    return torch.relu(torch.nn.functional.linear(lhs, rhs) + bias)


def _product_mlp(x, w0, b0, w1, b1, w2, b2):
    return torch.relu(torch.relu(x @ w0 + b0) @ w1 + b1) @ w2 + b2


def _linear_mlp(x, w0, b0, w1, b1, w2, b2):
    linear = torch.nn.functional.linear
    return linear(torch.relu(linear(torch.relu(linear(x, w0, b0)), w1, b1)), w2, b2)


def fc_relu(*arguments):
    """One layer, its weights as a product reads them."""
    return _call(_product_layer, arguments)


def fc_relu_linear(*arguments):
    """One layer, its weights as ``nn.Linear`` keeps them."""
    return _call(_linear_layer, arguments, turned=(1,))


def mlp(*arguments):
    """Three layers, their weights as products read them."""
    return _call(_product_mlp, arguments)


def mlp_linear(*arguments):
    """Three layers, their weights as ``nn.Linear`` keeps them."""
    return _call(_linear_mlp, arguments, turned=(1, 3, 5))

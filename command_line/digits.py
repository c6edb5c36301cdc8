"""A small neural network that learns to read handwritten digits: an example of a whole program in plain NumPy.

Nothing here but `fori_loop` knows of phlox. Run as it stands, `train` is NumPy; under `jit` the same function, with its loop,
its gradients and its parameter updates, becomes one native function::

    trained, losses = jit(train)(initial_parameters(), images, labels, 880)
"""

from __future__ import annotations

import numpy as np

from .. import fori_loop

PIXELS, HIDDEN, CLASSES = 64, 64, 10
LEARNING_RATE, MOMENTUM = 0.1, 0.9


def initial_parameters(seed=0):
    """Weights and biases of both layers, drawn as Glorot and Bengio (2010) propose."""
    generator = np.random.default_rng(seed)

    def weights(inputs, outputs):
        limit = np.sqrt(6 / (inputs + outputs))
        return generator.uniform(-limit, limit, (inputs, outputs))

    return weights(PIXELS, HIDDEN), np.zeros(HIDDEN), weights(HIDDEN, CLASSES), np.zeros(CLASSES)


def network(parameters, x):
    """The hidden layer's activations and, for each class, the logarithm of its probability; x holds one image in each row."""
    weights1, bias1, weights2, bias2 = parameters
    hidden = np.tanh(x @ weights1 + bias1)
    scores = hidden @ weights2 + bias2
    scores = scores - scores.max(axis=1, keepdims=True)
    return hidden, scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def loss_and_gradients(parameters, x, y):
    """The cross-entropy of the network's answers with the one-hot labels y, and its gradient by each parameter."""
    hidden, log_probability = network(parameters, x)
    loss = -(y * log_probability).sum() / len(x)
    d_scores = (np.exp(log_probability) - y) / len(x)
    d_hidden = (d_scores @ parameters[2].T) * (1 - hidden * hidden)
    return loss, (x.T @ d_hidden, d_hidden.sum(axis=0), hidden.T @ d_scores, d_scores.sum(axis=0))


def train(parameters, images, labels, steps):
    """Gradient descent with momentum; returns the trained parameters and the loss at each step.

    images has the shape (batches, images in a batch, pixels), labels (batches, images in a batch, classes), one-hot.
    """

    def step(i, state):
        parameters, velocity, losses = state
        batch = i % len(images)
        loss, gradients = loss_and_gradients(parameters, images[batch], labels[batch])
        velocity = tuple(MOMENTUM * v - LEARNING_RATE * g for v, g in zip(velocity, gradients))
        parameters = tuple(p + v for p, v in zip(parameters, velocity))
        losses[i] = loss
        return parameters, velocity, losses

    at_rest = tuple(np.zeros_like(p) for p in parameters)
    parameters, _, losses = fori_loop(0, steps, step, (parameters, at_rest, np.zeros(steps)))
    return parameters, losses


def read_digits(parameters, x):
    """The digit that the network sees in each row of x."""
    return network(parameters, x)[1].argmax(axis=1)

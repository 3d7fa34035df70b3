"""Trains a multilayer perceptron and a convolutional network on scikit-learn's handwritten digits (8x8
pixels), on the CPU or a GPU.

    python examples/digits.py [device]

Exits with an error if the test accuracy of one of them is below 97%.
"""

import sys
import time

import causeway as cw
import numpy as np
from causeway import nn
from sklearn.datasets import load_digits

F = nn.functional


def perceptron(device):
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, 256, device=device), nn.GELU(), nn.Dropout(0.2),
        nn.Linear(256, 128, device=device), nn.GELU(), nn.Linear(128, 10, device=device),
    )


def convolutional(device):
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1, device=device), nn.BatchNorm2d(32, device=device), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1, device=device), nn.BatchNorm2d(64, device=device), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 16, 10, device=device),
    )


def split(device, seed=0):
    images, classes = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(images))
    images = (images[order] / 16.0 - 0.3).astype(np.float32).reshape(-1, 1, 8, 8)
    x, y = cw.array(images, device=device), cw.array(classes[order].astype(np.int64), device=device)
    return x[:1437], y[:1437], x[1437:], y[1437:]


def accuracy(net, x, y):
    net.eval()
    with cw.no_grad():
        value = (net(x).argmax(axis=1) == y).to("f32").mean().item()
    net.train()
    return value


def learn(name, net, data, device, epochs, batch=64, peak=3e-3):
    x, y, test_x, test_y = data
    optimizer = cw.optim.AdamW(net.parameters(), lr=peak, weight_decay=0.05, max_norm=1.0)
    steps = len(x) // batch
    rate = cw.optim.Schedule(peak, total=epochs * steps, warmup=20, decay="cosine")

    def step(images, classes):
        loss = F.cross_entropy(net(images), classes, label_smoothing=0.05)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    run = cw.StepGraph(step, device=device)  # on a GPU a CUDA graph, from the second step on
    generator = cw.Generator(1)
    started = time.perf_counter()
    for epoch in range(epochs):
        order = generator.permutation(len(x), device=device)
        for i in range(steps):
            picked = order[i * batch : (i + 1) * batch]
            optimizer.lr = rate(epoch * steps + i)
            loss = run(cw.take(x, picked, axis=0), cw.take(y, picked, axis=0))
        if epoch % 5 == 4:
            print(f"{name}: epoch {epoch + 1}, loss {loss.item():.3f}")
    score = accuracy(net, test_x, test_y)
    seconds = time.perf_counter() - started
    print(f"{name}: {net.n_parameters} parameters, {seconds:.1f} s, test accuracy {score:.1%}")
    return score


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    cw.manual_seed(0)
    data = split(device)
    scores = [learn("perceptron", perceptron(device), data, device, epochs=30),
              learn("convolutional net", convolutional(device), data, device, epochs=15)]
    if min(scores) < 0.97:
        sys.exit("a network has a test accuracy below 97%")


if __name__ == "__main__":
    main()

"""Gravitational acceleration of every body by all others."""

import causeway as cw
import numpy as np
from measure import measure, options

SOFTENING = 0.01


@cw.struct
class Bodies:
    position: cw.array(dtype=cw.vec3)
    mass: cw.array(dtype=float)


@cw.func
def attraction(offset: cw.vec3, mass: float):
    d = cw.dot(offset, offset) + SOFTENING
    return offset * (mass / (d * cw.sqrt(d)))


@cw.kernel
def accelerate(bodies: Bodies, n: int, out: cw.array(dtype=cw.vec3)):
    i = cw.tid()
    here = bodies.position[i]
    a = cw.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        a += attraction(bodies.position[j] - here, bodies.mass[j])
    out[i] = a


if __name__ == "__main__":
    args = options(size=2048)
    n = args.size
    random = cw.Generator(1)
    bodies = Bodies(position=random.normal((n, 3), device=args.device),
                    mass=random.uniform(n, device=args.device))  # fmt: skip
    out = cw.empty((n, 3), device=args.device)
    cw.launch(accelerate, dim=n, inputs=[bodies, n], outputs=[out])
    p, m = bodies.position.numpy().astype("f8"), bodies.mass.numpy().astype("f8")
    offset = p[None] - p[:64, None]
    d = (offset**2).sum(axis=2) + SOFTENING
    np.testing.assert_allclose(out.numpy()[:64], (offset * (m / d**1.5)[..., None]).sum(axis=1),
                               rtol=1e-3, atol=1e-3)  # fmt: skip
    measure("nbody", lambda: accelerate.launch(n, [bodies, n, out]), args.device, n_flops=20 * n * n)

"""A JAX function as a model: jitted, in 64-bit types where it wants them, whatever the global settings."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from ranklens.arrays import Backend, backend_of, is_array, open_backend
from ranklens.core import ModelError
from ranklens.explain.models.base import Model, misshapen, raised
from ranklens.explain.models.jax_constants import unjitted, with_copied_arrays, with_own_constants
from ranklens.explain.models.registry import needed

Array = Any


class JaxModel(Model):
    """A JAX function from points (n, k) to n scores, with or without a pytree of parameters.

    A function of one row, from (k,) to a score, is mapped over the rows. The points have the floating type of
    the parameters; without parameters float64, or float32 where the function takes nothing else.

    It is compiled for few numbers of rows, and so also runs on rows that fill up: on 4096 at least where all
    coalitions are scored in one program. ``n_model_rows``, `max_rows` and `batch_rows` do not count those.

    Parameters
    ----------
    fn : callable
        ``fn(points)``, or ``fn(params, points)``.
    names : iterable of str
        The k features.
    params : pytree, optional
        Leaves that are no arrays (say activation functions of a module) are left as they are.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> model = JaxModel(lambda w, x: x @ w, ["bm25", "price"], params=jnp.asarray([1.0, -0.5]))
    >>> model.score(jnp.asarray([[2.0, 2.0]])).tolist()
    [1.0]
    """

    kind = "the JAX function"
    pure = True

    def __init__(self, fn: Callable[..., Any], names: Iterable[str], params: Any = None) -> None:
        self._parameters = Parameters(params)
        super().__init__(names, self._parameters.backend)
        self._fn = with_copied_arrays(unjitted(fn))
        with self.backend.precise():
            self._dtype, self._by_row = self._probe()
        self._jitted = importlib.import_module("jax").jit(self.traced)
        self._program: Any = None
        self._sampled: Any = None

    @property
    def dtype(self) -> Any:
        """The floating type of the parameters, or else the widest that the function takes."""
        return self._dtype

    @property
    def arrays(self) -> list[Array]:
        """The parameters that are arrays, as `traced` takes them."""
        return self._parameters.arrays

    def predict(self, points: Array) -> Array:
        jnp = self.backend.xp
        n = points.shape[0]
        with self.backend.precise():
            # A call of another size would compile anew.
            missing = 2 ** (n - 1).bit_length() - n
            if missing:
                filler = jnp.broadcast_to(points[:1, :], (missing, points.shape[1]))
                points = jnp.concat([points, filler], axis=0)
            scores = self._jitted(self.arrays, jnp.astype(points, self._dtype))
            return scores[:n] if missing else scores

    def spare_pairs(self, n: int) -> int:
        # Sizes that are powers of four let few programs serve all calls.
        return int(4 ** -(-(n - 1).bit_length() // 2)) - n

    def exact(self, pairs: Any) -> Array | None:
        """Explain `pairs` in one program on the device; see `ranklens.explain.models.jax_program`."""
        from ranklens.explain.models.jax_program import ExactProgram

        if self._program is None:
            self._program = ExactProgram(self.traced)
        return self._program(self.arrays, pairs)

    def sampled(self, game: Any) -> Array | None:
        """Explain the pairs of a game in one program; see `ranklens.explain.models.jax_sampled`."""
        from ranklens.explain.models.jax_sampled import SampledProgram

        if self._sampled is None:
            self._sampled = SampledProgram(self.traced)
        return self._sampled(self.arrays, game.pairs, game.layout, game.layout_on_device)

    def traced(self, arrays: list[Array], points: Array) -> Array:
        """Return one score a row, as a pure function that JAX can transform."""
        jax = importlib.import_module("jax")
        call = self._parameters.bound(self._fn, arrays)
        n = points.shape[0]
        try:
            answer = with_own_constants(jax.vmap(call) if self._by_row else call, points)
        except Exception as error:
            raise raised(self.kind, error, points) from error
        return _vector(answer, n, self.kind)

    def _probe(self) -> tuple[Any, bool]:
        """Find the type of the points, and whether the function wants them one by one."""
        jnp = self.backend.xp
        own = self._parameters.dtype
        errors: list[ModelError] = []
        for kind in [own] if own else [jnp.float64, jnp.float32]:
            for by_row in (False, True):
                self._by_row = by_row
                try:
                    self._try(kind)
                except ModelError as error:
                    # A function of many rows that gives too few scores is wrong, not one of a single row.
                    if error.__cause__ is None:
                        raise (errors or [error])[0] from None
                    errors.append(error)
                else:
                    return kind, by_row
        raise errors[0]

    def _try(self, kind: Any) -> None:
        jax = importlib.import_module("jax")
        # No other size than that of the rows should fit by chance.
        k = len(self.names)
        jax.eval_shape(self.traced, self.arrays, jax.ShapeDtypeStruct((2 * k + 3, k), kind))


class Parameters:
    """A pytree, taken apart into the arrays that JAX may trace and the leaves that it may not."""

    def __init__(self, params: Any) -> None:
        jax = importlib.import_module("jax")
        self.given = params is not None
        leaves, self._tree = jax.tree.flatten(params)
        self._is_array = [is_array(leaf) for leaf in leaves]
        self._others = [None if is_array(leaf) else leaf for leaf in leaves]
        self.arrays = [leaf for leaf in leaves if is_array(leaf)]

    @property
    def backend(self) -> Backend:
        """Where the parameters lie; where JAX prefers, without any."""
        on_device = [leaf for leaf in self.arrays if hasattr(leaf, "devices") and len(leaf.devices()) == 1]
        return backend_of(on_device[0]) if on_device else open_backend("jax")

    @property
    def dtype(self) -> Any:
        """float64 where a parameter has it, float32 where one has another floating type, else None."""
        jnp = open_backend("jax").xp
        floating = {leaf.dtype for leaf in self.arrays if jnp.issubdtype(leaf.dtype, jnp.floating)}
        if not floating:
            return None
        return jnp.float64 if jnp.dtype(jnp.float64) in floating else jnp.float32

    def bound(self, fn: Callable[..., Any], arrays: list[Array]) -> Callable[[Array], Any]:
        """Return `fn` as a function of the points alone, with `arrays` in the place of the own ones."""
        if not self.given:
            return fn
        traced = iter(arrays)
        leaves = [
            next(traced) if flag else other for flag, other in zip(self._is_array, self._others, strict=True)
        ]
        params = importlib.import_module("jax").tree.unflatten(self._tree, leaves)
        return lambda points: fn(params, points)


def _vector(answer: Any, n: int, kind: str) -> Array:
    if not is_array(answer):
        raise ModelError(f"{kind} returned a {type(answer).__name__}; one score a row is needed")
    if tuple(answer.shape) not in ((n,), (n, 1)):
        raise ModelError(f"{kind} returned {misshapen(tuple(answer.shape), n)}; one score a row is needed")
    return answer if answer.ndim == 1 else answer[:, 0]


def inferring(module: Any) -> Any:
    """Return a module of equinox or flax.nnx as it is asked for scores: without dropout, say."""
    origins = {kind.__module__.partition(".")[0] for kind in type(module).__mro__}
    if "equinox" in origins:
        return importlib.import_module("equinox").nn.inference_mode(module)
    if "flax" in origins:
        # The module itself is left in the mode that it is in.
        module = importlib.import_module("jax").tree.map(lambda leaf: leaf, module)
        module.eval()
    return module


def adapt_model(model: Any, names: Iterable[str] | None, params: Any = None) -> Model:
    """Make a model of a JAX function, a module of equinox or flax.nnx, or one of flax.linen with `params`."""
    if params is not None:
        fn = model.apply if hasattr(model, "apply") else model
        return JaxModel(fn, needed(names, "a JAX function"), params)
    if not callable(model):
        raise TypeError(f"no adapter for a {type(model).__name__}; pass a function with params=")
    leaves = importlib.import_module("jax").tree.leaves(model)
    if leaves and leaves[0] is not model:
        module = inferring(model)
        return JaxModel(lambda module, points: module(points), needed(names, "a JAX module"), module)
    return JaxModel(model, needed(names, "a JAX function"))

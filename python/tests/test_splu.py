"""lulab.splu beside scipy.sparse.linalg.splu."""
import pickle
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.testing import assert_array_equal
from scipy.linalg import LinAlgWarning

import lulab

EPS = {np.float32: 2.0**-24, np.float64: 2.0**-53}
# What splu promises of x, and the rounding of the residual here; float32: x is right when it is rounded.
GOOD = {np.float32: 4 * EPS[np.float32], np.float64: 1.5e-14}


def matrix(n, seed, dtype=np.float64):
    """Random and unsymmetric, 4 entries a row beside a large one, which is seldom on the diagonal."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, 4 * n), tuple(rng.integers(0, n, (2, 4 * n)))
    large = rng.uniform(2, 4, n) * rng.choice([-1, 1], n), (rng.permutation(n), np.arange(n))
    return sp.csc_array(sp.coo_array(values, shape=(n, n)) + sp.coo_array(large, shape=(n, n)), dtype=dtype)


def backward_error(a, x, b):
    """max |b - A x| / (|A| |x| + |b|), componentwise; NaN where anything is."""
    r = np.abs(a.astype(np.float64) @ x.astype(np.float64) - b)
    return np.max(r / (abs(a).astype(np.float64) @ np.abs(x).astype(np.float64) + np.abs(b)))


def permuted(a, lu):
    n = a.shape[0]
    rows = sp.csc_array((np.ones(n), (lu.perm_r, np.arange(n))), shape=(n, n))
    columns = sp.csc_array((np.ones(n), (np.arange(n), lu.perm_c)), shape=(n, n))
    return rows @ a @ columns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 17, 300])
def test_l_times_u_is_the_permuted_matrix(n, dtype):
    a = matrix(n, n, dtype)
    lu = lulab.splu(a)
    lower, upper = lu.L, lu.U
    assert lower.dtype == upper.dtype == dtype and lower.format == upper.format == "csc"
    assert lower.shape == upper.shape == lu.shape == (n, n)
    assert_array_equal(lower.diagonal(), np.ones(n))
    assert sp.triu(lower, 1).nnz == 0 and sp.tril(upper, -1).nnz == 0
    assert_array_equal(np.sort(lu.perm_r), np.arange(n))
    assert_array_equal(np.sort(lu.perm_c), np.arange(n))
    wide = lower.astype(np.float64), upper.astype(np.float64)
    error = abs(wide[0] @ wide[1] - permuted(a, lu)).toarray()
    # |L U - P A Q| <= n eps |L| |U|, entry by entry (Higham 2002, theorem 9.3)
    assert np.all(error <= n * EPS[dtype] * (abs(wide[0]) @ abs(wide[1])).toarray())
    assert lu.nnz == lower.nnz + upper.nnz


def test_badly_scaled_rows_and_columns_are_folded_exactly():
    a = lulab.generate("badly_scaled", 200, decades=10)
    lu = lulab.splu(a)
    error = abs(lu.L @ lu.U - permuted(a, lu)).toarray()
    assert np.all(error <= 200 * EPS[np.float64] * (abs(lu.L) @ abs(lu.U)).toarray())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("trans", ["N", "T", "H", "t"])
def test_solves_as_scipy_does(trans, dtype):
    a = matrix(200, 3, dtype)
    rng = np.random.default_rng(4)
    ours, theirs = lulab.splu(a), sla.splu(a)
    op = a if trans == "N" else sp.csc_array(a.T)
    for shape in [(200,), (200, 1), (200, 7), (200, 0)]:
        for order in "CF":
            b = np.asarray(rng.uniform(-1, 1, shape), dtype, order=order)
            kept = b.copy()
            x, wanted = ours.solve(b, trans), theirs.solve(b, trans)
            assert x.shape == wanted.shape and x.dtype == wanted.dtype
            assert_array_equal(b, kept)
            for k in range(b.size // 200):
                column = (lambda v: v.reshape(200, -1)[:, k])
                error = backward_error(op, column(x), column(b))
                assert error <= GOOD[dtype]


def test_right_sides_that_are_views():
    a = matrix(50, 5)
    lu = lulab.splu(a)
    big = np.random.default_rng(6).uniform(size=(100, 8))
    for b in (big[::2, 3], big[::2, ::3], big[:50, :4].T[:, ::-1].T, big[49::-1, 0]):
        assert backward_error(a, lu.solve(b).reshape(50, -1)[:, 0], b.reshape(50, -1)[:, 0]) <= GOOD[np.float64]


def test_right_sides_of_other_types_are_cast_as_scipy_casts_them():
    a = matrix(20, 7)
    for dtype in (np.float32, np.float64):
        ours, theirs = lulab.splu(a.astype(dtype)), sla.splu(a.astype(dtype))
        for other in (bool, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64, np.longdouble,
                      np.complex64, np.complex128, "U1"):
            b = np.ones(20).astype(other)
            try:
                wanted = theirs.solve(b)
            except TypeError:
                with pytest.raises(TypeError):
                    ours.solve(b)
            else:
                x = ours.solve(b)
                assert x.dtype == wanted.dtype
                assert np.allclose(x, wanted, rtol=1e-3 if dtype == np.float32 else 1e-8)


@pytest.mark.parametrize("name", ["csc", "csr", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [sp.csc_array, sp.csc_matrix])
def test_every_format(name, kind):
    a = kind(matrix(40, 8))
    b = np.arange(1.0, 41)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x = lulab.splu(a.asformat(name)).solve(b)
    told = [w for w in caught if w.category is sp.SparseEfficiencyWarning and w.filename == __file__]
    assert len(told) == (name != "csc")
    assert backward_error(sp.csc_array(a), x, b) <= GOOD[np.float64]


def test_a_dense_matrix():
    a = matrix(30, 9)
    with pytest.warns(sp.SparseEfficiencyWarning):
        x = lulab.splu(a.toarray()).solve(np.ones(30))
    assert backward_error(a, x, np.ones(30)) <= GOOD[np.float64]


def test_indices_of_64_bits_unsorted_and_repeated():
    a = matrix(30, 10)
    rng = np.random.default_rng(11)
    coo = a.tocoo()
    order = rng.permutation(2 * coo.nnz)
    # each entry as two summands, in random order
    part = rng.uniform(-1, 1, coo.nnz)
    values = np.concatenate([coo.data - part, part])[order]
    rows, columns = np.tile(coo.row, 2)[order], np.tile(coo.col, 2)[order]
    by_column = np.argsort(columns, kind="stable")
    pointers = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=30))])
    messy = sp.csc_array((values[by_column], rows[by_column].astype(np.int64), pointers.astype(np.int64)),
                         shape=(30, 30))
    kept = messy.data.copy(), messy.indices.copy()
    summed = messy.copy()
    summed.sum_duplicates()
    x = lulab.splu(messy).solve(np.ones(30))
    assert backward_error(summed, x, np.ones(30)) <= GOOD[np.float64]
    assert_array_equal(messy.data, kept[0])
    assert_array_equal(messy.indices, kept[1])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int16, np.int32, np.int64, np.uint16])
def test_matrices_of_integers_become_what_scipy_makes_of_them(dtype):
    a = sp.csc_array(np.array([[0, 1, 0], [1, 0, 1], [0, 0, 1]]).astype(dtype))
    ours, theirs = lulab.splu(a), sla.splu(a)
    assert ours.L.dtype == theirs.L.dtype
    b = np.array([1, 1, 0], np.float32)
    assert_array_equal(ours.solve(b), theirs.solve(b))


@pytest.mark.parametrize("what, error", [
    (sp.csc_array(np.ones((3, 4))), ValueError),
    (sp.csc_array(np.eye(3) * 1j), TypeError),
    (sp.csc_array(np.eye(3, dtype=np.longdouble)), TypeError),
    (sp.csc_array(np.diag([1.0, np.nan, 1.0])), ValueError),
    (sp.csc_array(np.diag([1.0, np.inf, 1.0])), ValueError),
    (sp.csc_array((3, 3)), RuntimeError),
    (sp.csc_array(np.array([[1.0, 2.0], [2.0, 4.0]])), RuntimeError),
    (sp.csc_array(np.array([[1.0, 1.0, 0], [1.0, 1.0, 0], [0, 0, 1.0]])), RuntimeError),
])
def test_matrices_that_cannot_be_factored(what, error):
    with pytest.raises(error) as caught:
        lulab.splu(what)
    if error is RuntimeError:
        assert str(caught.value).startswith("Factor is exactly singular")
        assert isinstance(caught.value, lulab.SingularError)
        copy = pickle.loads(pickle.dumps(caught.value))
        assert (str(copy), copy.code, copy.columns) == (str(caught.value), caught.value.code, caught.value.columns)
    else:
        assert str(caught.value)


def test_a_singular_matrix_names_its_columns():
    a = sp.csc_array(np.diag([1.0, 0.0, 1.0]))
    a.eliminate_zeros()
    with pytest.raises(lulab.SingularError) as caught:
        lulab.splu(a)
    assert (caught.value.code, caught.value.rows, caught.value.columns) == ("structurally_singular", [1], [1])


def test_wrong_arguments_of_solve():
    lu = lulab.splu(matrix(10, 12))
    for b in (np.ones(9), np.ones((11, 2)), np.ones((10, 2, 2)), 5.0):
        with pytest.raises(ValueError):
            lu.solve(b)
    for trans in ("X", "", "NT", None):
        with pytest.raises(ValueError, match="trans must be N, T, or H"):
            lu.solve(np.ones(10), trans)
    with pytest.raises(TypeError):
        lu.solve(sp.csc_array(np.ones((10, 1))))
    with pytest.raises(TypeError):
        pickle.dumps(lu)


def test_nan_in_b_gives_nan_and_no_warning():
    a = matrix(10, 13)
    b = np.ones((10, 2))
    b[3, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = lulab.splu(a).solve(b)
    assert np.isnan(x[:, 0]).any()
    assert backward_error(a, x[:, 1], b[:, 1]) <= GOOD[np.float64]


def test_an_x_that_is_not_good_comes_with_a_warning():
    with pytest.warns(LinAlgWarning, match="backward error"):
        lulab.splu(sp.csc_array(1e-310 * np.eye(3))).solve(np.ones(3))  # x overflows
    solver = lulab.Solver()
    solver.analyze(sp.csc_array(1e-310 * np.eye(3)))
    solver.factor(np.full(3, 1e-310))
    with pytest.warns(LinAlgWarning, match="backward error"):
        solver.solve(np.ones(3))


def test_small_pivots_that_scipy_takes_by_value():
    a = sp.csc_array(np.array([[1e-16, 1.0], [1.0, 2.0]]))
    b = np.array([1.0, 3.0])
    x = lulab.splu(a).solve(b)
    assert np.all(np.abs(x - 1) <= 4 * EPS[np.float64])


def test_an_empty_matrix():
    lu = lulab.splu(sp.csc_array((0, 0)))
    assert lu.shape == (0, 0) and lu.solve(np.ones(0)).shape == (0,)
    assert lu.L.shape == (0, 0) and lu.perm_c.size == 0


def test_options_of_scipy():
    a = matrix(60, 14)
    b = np.arange(1.0, 61)
    for given in (dict(permc_spec="NATURAL"), dict(permc_spec="MMD_ATA"), dict(permc_spec="colamd"),
                  dict(diag_pivot_thresh=0.1), dict(diag_pivot_thresh=2, relax=1, panel_size=10),
                  dict(options=dict(Equil=False, IterRefine="SINGLE")), dict(options=dict(SymmetricMode=True))):
        assert backward_error(a, lulab.splu(a, **given).solve(b), b) <= GOOD[np.float64], given
    assert_array_equal(lulab.splu(a, permc_spec="NATURAL").perm_c, np.arange(60))
    a = lulab.generate("random", 300)
    assert abs(lulab.splu(a, diag_pivot_thresh=1).L).max() <= 1 < abs(lulab.splu(a).L).max()
    with pytest.raises(ValueError):
        lulab.splu(a, permc_spec="METIS")
    with pytest.raises(ValueError):
        lulab.splu(a, options=dict(IterRefine="TWICE"))
    with pytest.raises(TypeError):
        lulab.splu(a, options=dict(Foo=1))


def test_permutations_outlive_what_gave_them():
    lu = lulab.splu(matrix(30, 15))
    before = sys.getrefcount(lu)
    p = lu.perm_r
    assert sys.getrefcount(lu) == before + 1
    kept = p.copy()
    del lu
    assert_array_equal(p, kept)


def test_threads_share_one_object():
    a = matrix(400, 16)
    lu = lulab.splu(a)
    rng = np.random.default_rng(17)
    sides = [rng.uniform(-1, 1, 400) for _ in range(16)]
    solutions = [None] * len(sides)

    def solve(k):
        solutions[k] = lu.solve(sides[k])

    threads = [threading.Thread(target=solve, args=(k,)) for k in range(len(sides))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for x, b in zip(solutions, sides):
        assert backward_error(a, x, b) <= GOOD[np.float64]


@pytest.mark.parametrize("call", ["splu", "solve"])
def test_other_threads_run_while_lulab_works(call):
    """A thread that counts must get on during one call: with the GIL held it would stand still."""
    a = lulab.generate("grid2d", 20000)
    lu = lulab.splu(a)
    b = np.ones((a.shape[0], 40), order="F")
    turns, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            turns[0] += 1
            time.sleep(0)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        arguments = (lulab._arrays.arrays_of(a), np.full(b.size, np.nan))
        solver = lulab._core.Solver(False, {})
        first = turns[0]
        start = time.perf_counter()
        if call == "splu":
            solver.analyze(arguments[0])
            solver.factor(arguments[0][4])
        else:
            lu._solver.solve(b.ravel(order="F"), arguments[1], 40, False)
        seconds = time.perf_counter() - start
        counted = turns[0] - first
    finally:
        stop.set()
        counter.join()
    if seconds <= 0.02:
        pytest.skip("too short to say anything")
    # Held, the GIL would be free at most between the calls of this test: once or twice.
    assert counted > 20, (counted, seconds)

"""lulab.Solver, the judge, generators and Matrix Market."""
import threading

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.testing import assert_array_equal
from test_splu import EPS, backward_error, matrix

import lulab


def other_values(a, seed):
    b = a.copy()
    b.data = a.data * np.random.default_rng(seed).uniform(0.5, 2, a.nnz)
    return b


@pytest.mark.parametrize("precision", ["double", "single"])
def test_steps_with_new_values(precision):
    a = matrix(150, 1)
    solver = lulab.Solver(precision=precision)
    solver.analyze(a)
    solver.factor(a)
    for seed in range(2, 6):
        new = other_values(a, seed)
        b = np.random.default_rng(seed).uniform(-1, 1, 150)
        assert backward_error(new, solver.step(new.data, b), b) <= 1e-12
        assert backward_error(new, solver.solve(b), b) <= 1e-12
        assert backward_error(sp.csc_array(new.T), solver.solve(b, "T"), b) <= 1e-12
        solver.refactor(other_values(a, 99 + seed))
        assert not backward_error(new, solver.solve(b), b) <= 1e-12  # the matrix is another one now


@pytest.mark.parametrize("form", ["csr", "coo", "unsorted", "repeated"])
def test_values_are_in_the_order_of_the_analyzed_matrix(form):
    a = matrix(80, 7)
    rng = np.random.default_rng(8)
    if form == "csr":
        given = a.tocsr()
    else:
        coo = a.tocoo()
        order = rng.permutation(coo.nnz)
        rows, columns, values = coo.row[order], coo.col[order], coo.data[order]
        if form == "repeated":
            rows, columns, values = np.tile(rows, 2), np.tile(columns, 2), np.concatenate([values, values / 2])
        given = sp.coo_array((values, (rows, columns)), shape=a.shape)
        if form == "unsorted":
            by_column = np.argsort(columns, kind="stable")
            given = sp.csc_array((values[by_column], rows[by_column], a.indptr), shape=a.shape)
            assert not given.has_sorted_indices
    solver = lulab.Solver()
    solver.analyze(given)
    solver.factor(given.data)
    new = given.copy()
    new.data = given.data * rng.uniform(0.5, 2, given.nnz)
    b = rng.uniform(-1, 1, 80)
    assert backward_error(new.tocsc(), solver.step(new.data, b), b) <= 1e-12
    solver.refactor(new)
    assert backward_error(new.tocsc(), solver.solve(b), b) <= 1e-12


def test_many_right_sides_and_their_order():
    a = matrix(60, 9)
    solver = lulab.Solver()
    solver.analyze(a)
    solver.factor(a)
    b = np.random.default_rng(10).uniform(-1, 1, (60, 5))
    x = solver.solve(b)
    for k in range(5):
        assert backward_error(a, x[:, k], b[:, k]) <= 1e-12


def test_factors_are_those_of_the_one_equation():
    a = lulab.generate("random", 70)
    solver = lulab.Solver()
    solver.analyze(a)
    solver.factor(a)
    f = solver.factors()
    scaled = (sp.diags(f.r) @ a @ sp.diags(f.c)).tocsr()[f.p][:, f.q]
    error = abs(f.L @ f.U - scaled).toarray()
    assert np.all(error <= 70 * EPS[np.float64] * (abs(f.L) @ abs(f.U)).toarray())
    assert_array_equal(np.log2(f.r), np.round(np.log2(f.r)))
    assert f.r.max() > f.r.min() and f.c.max() > f.c.min()
    report = lulab.judge(a, f.L, f.U, f.p + 1, f.q + 1, r=f.r, c=f.c, convention="lulab")
    assert report["status"] == "ok", report["failures"]


def test_condition_and_statistics():
    a = sp.csc_array(np.diag([1.0, 1e-3, 1.0]) + np.triu(np.ones((3, 3)), 1))
    solver = lulab.Solver(rung="90_klu")
    solver.analyze(a)
    solver.factor(a)
    exact = 1 / (np.linalg.norm(a.toarray(), 1) * np.linalg.norm(np.linalg.inv(a.toarray()), 1))
    rcond, rcond_scaled = solver.condition()
    assert exact * 0.9 <= rcond <= exact * 3 and rcond_scaled >= rcond
    known = solver.statistics
    assert known["rung"] == "sparse_leftlooking/90_klu" and known["n"] == 3 and known["nnz"] == 6
    assert known["structural_rank"] == known["numerical_rank"] == 3 and known["repivots"] == 0


def test_wrong_order_of_calls_and_wrong_arguments():
    a = matrix(20, 12)
    solver = lulab.Solver()
    with pytest.raises(ValueError):
        solver.factor(a.data)
    with pytest.raises(ValueError):
        solver.refactor(a)
    solver.analyze(a)
    with pytest.raises(ValueError):
        solver.solve(np.ones(20))
    solver.factor(a)
    for wrong in (np.ones(a.nnz - 1), np.ones((a.nnz, 1)), matrix(20, 13), matrix(21, 12)):
        with pytest.raises(ValueError):
            solver.refactor(wrong)
    with pytest.raises(TypeError):
        solver.refactor(a.data * 1j)
    with pytest.raises(ValueError):
        solver.step(a.data, np.ones((20, 2)))
    with pytest.raises(ValueError):
        solver.step(a.data, np.ones(19))
    spoilt = a.data.copy()
    spoilt[3] = np.nan
    with pytest.raises(ValueError):
        solver.refactor(spoilt)
    with pytest.raises((ValueError, lulab.LulabError)):
        solver.solve(np.ones(20))  # there are no factors now
    solver.factor(a)
    assert backward_error(a, solver.solve(np.ones(20)), np.ones(20)) <= 1e-12
    lil = lulab.Solver()
    lil.analyze(a.tolil())
    lil.factor(a.tolil())
    with pytest.raises(ValueError):
        lil.refactor(a.data)


def test_options():
    with pytest.raises(TypeError, match="there is no option speed"):
        lulab.Solver(speed=3)
    with pytest.raises(ValueError, match="order"):
        lulab.Solver(order="best")
    with pytest.raises(ValueError):
        lulab.Solver(precision="half")
    assert {"rung", "order", "threads", "refine"} <= set(lulab.option_keys())
    a = matrix(50, 14)
    solver = lulab.Solver(rung="06_pruned", order="natural", threads=1, repivot=False, pivot_tol=0.5)
    solver.analyze(a)
    assert solver.statistics["rung"] == "sparse_leftlooking/06_pruned"
    assert solver.statistics["order"] == "natural"


def test_an_order_of_the_callers():
    a = matrix(50, 15)
    order = np.random.default_rng(1).permutation(50)
    solver = lulab.Solver(column_order=order)
    solver.analyze(a)
    solver.factor(a)
    assert solver.statistics["order"] == "given"
    assert_array_equal(solver.factors().q, order)
    assert backward_error(a, solver.solve(np.ones(50)), np.ones(50)) <= 1e-12
    for wrong in (order[1:], np.append(order[1:], order[1]), order + 1):
        with pytest.raises(ValueError, match="the given order"):
            lulab.Solver(column_order=wrong).analyze(a)
    with pytest.raises(ValueError, match="exclude each other"):
        lulab.Solver(order="amd", column_order=order)
    with pytest.raises(ValueError, match="column_order"):
        lulab.Solver(order="given")
    for no_order in (order + 0.5, order.reshape(5, 10), order + 2**40):
        with pytest.raises(ValueError, match="column_order"):
            lulab.Solver(column_order=no_order)


def test_singular_values_after_good_ones():
    a = sp.csc_array(np.array([[2.0, 1.0], [1.0, 2.0]]))
    solver = lulab.Solver()
    solver.analyze(a)
    solver.factor(a)
    with pytest.raises(lulab.SingularError):
        solver.step(np.ones(4), np.ones(2))
    assert_array_equal(solver.step(np.array([1.0, 0, 0, 2.0]), np.array([1.0, 4.0])), [1.0, 2.0])


@pytest.mark.parametrize("form", ["csc", "csr", "repeated"])
def test_a_batch(form):
    a = matrix(60, 18)
    if form == "repeated":
        coo = a.tocoo()
        a = sp.coo_array((np.tile(coo.data / 2, 2), (np.tile(coo.row, 2), np.tile(coo.col, 2))), shape=a.shape)
    else:
        a = a.asformat(form)
    rng = np.random.default_rng(19)
    values = a.data * rng.uniform(0.8, 1.2, (5, a.data.size))
    values[3] = 0
    b = rng.uniform(-1, 1, (5, 60))
    batch = lulab.BatchSolver()
    batch.analyze(a, 5)
    batch.factor(values)
    for x in (batch.solve(b), batch.step(values, np.asfortranarray(b))):
        assert [e is None for e in batch.errors] == [True, True, True, False, True]
        assert isinstance(batch.errors[3], lulab.SingularError) and np.isnan(x[3]).all()
        for k in (0, 1, 2, 4):
            new = a.copy()
            new.data = values[k]
            assert backward_error(new.tocsc(), x[k], b[k]) <= 1e-12
    assert batch.statistics["systems"] == 5 and batch.statistics["failed"] == 1
    for wrong in (values[:4], values[:, 1:], values[0]):
        with pytest.raises(ValueError):
            batch.factor(wrong)
    with pytest.raises(ValueError):
        batch.solve(b[:, :-1])
    with pytest.raises(ValueError):
        batch.analyze(a, 0)
    with pytest.raises(ValueError):
        batch.factor(values)


def test_two_threads_with_solvers_of_their_own():
    matrices = [matrix(300, 20 + k) for k in range(4)]
    errors = [np.nan] * 4

    def work(k):
        solver = lulab.Solver()
        solver.analyze(matrices[k])
        solver.factor(matrices[k])
        worst = 0
        for seed in range(20):
            new = other_values(matrices[k], seed)
            b = np.random.default_rng(seed).uniform(-1, 1, 300)
            worst = np.maximum(worst, backward_error(new, solver.step(new.data, b), b))
        errors[k] = worst

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(e <= 1e-12 for e in errors), errors


def test_judge_accepts_scipy_and_finds_a_wrong_entry():
    a = matrix(40, 15)
    lu = sla.splu(a)
    assert lulab.judge(a, lu.L, lu.U, lu.perm_r, lu.perm_c, convention="scipy")["status"] == "ok"
    ours = lulab.splu(a)
    report = lulab.judge(a, ours.L, ours.U, ours.perm_r, ours.perm_c)
    assert (report["status"], report["finding"]) == ("ok", None), report["failures"]
    assert all(isinstance(c["value"], (float, int, bool)) for c in report["checks"])
    wrong = ours.U.copy()
    wrong.data[wrong.indptr[20] - 1] *= 1.5
    report = lulab.judge(a, ours.L, wrong, ours.perm_r, ours.perm_c, convention="scipy")
    assert report["status"] == "failed" and report["finding"]["fault"] == "wrong_value"
    assert (report["finding"]["row"], report["finding"]["column"]) == (20, 20)
    swapped = lulab.judge(a, ours.U, ours.L, ours.perm_r, ours.perm_c, convention="scipy")
    assert swapped["finding"]["fault"] == "swapped_factors"
    x = ours.solve(np.ones(40))
    for spoilt, status in ((x, "ok"), (x * 1.001, "failed")):
        report = lulab.judge(a, ours.L, ours.U, ours.perm_r, ours.perm_c, convention="scipy", x=spoilt, b=np.ones(40))
        assert report["status"] == status
    spoilt = ours.L.copy()
    spoilt.data[5] = np.inf
    report = lulab.judge(a, spoilt, ours.U, ours.perm_r, ours.perm_c, convention="scipy")
    assert (report["finding"]["fault"], report["finding"]["found"]) == ("not_finite", np.inf)
    with pytest.raises(ValueError):
        lulab.judge(a, ours.L, ours.U, convention="numpy")
    with pytest.raises(ValueError):
        lulab.judge(a, matrix(41, 1), ours.U)
    with pytest.raises(ValueError):
        lulab.judge(a, ours.L, ours.U, ours.perm_r[:-1], ours.perm_c, convention="scipy")


def test_generators():
    assert {"power_grid", "badly_scaled"} <= set(lulab.generator_families())
    a, again, other = (lulab.generate("power_grid", 500, seed=s) for s in (3, 3, 4))
    assert a.format == "csc" and a.has_canonical_format and a.shape[0] == a.shape[1]
    assert_array_equal(a.data, again.data)
    assert not np.array_equal(a.data, other.data)
    assert abs(a - a.T).max() > 0
    with pytest.raises(ValueError):
        lulab.generate("no_such_family")
    with pytest.raises(ValueError):
        lulab.generate("power_grid", 0)


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
def test_matrix_market_there_and_back(tmp_path, name):
    a = matrix(30, 16)
    path = tmp_path / name
    lulab.write_matrix_market(path, a.tocsr(), "a comment")
    for back in (lulab.read_matrix_market(path), sp.csc_array(scipy.io.mmread(path))):
        assert_array_equal(back.toarray(), a.toarray())
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1.0\n")
    with pytest.raises(ValueError, match=":3:|line 3|x"):
        lulab.read_matrix_market(path)
    with pytest.raises(ValueError):
        lulab.read_matrix_market(tmp_path / "missing.mtx")

"""scikit-learn's transformers, metrics, kernels and scores, given jitted functions."""

import numpy as np
import pytest
from both_ways import both_ways
from thinning import left_to_ci

sklearn = pytest.importorskip("sklearn")
from sklearn import (  # noqa: E402
    base,
    cluster,
    compose,
    decomposition,
    feature_selection,
    gaussian_process,
    inspection,
    kernel_approximation,
    kernel_ridge,
    linear_model,
    metrics,
    model_selection,
    neighbors,
    pipeline,
    preprocessing,
    svm,
)  # fmt: skip

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
CLASSES = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
TARGET = X @ [1.0, 2, 3, 4] + 0.1 * RNG.normal(size=60)


@both_ways()
def test_function_transformer(jit):
    @jit
    def powers(X, degree=2, *, scale=1.0):
        return np.concatenate([X**k * scale for k in range(1, degree + 1)], axis=1)

    there_and_back = preprocessing.FunctionTransformer(jit(np.log1p), inverse_func=jit(np.expm1), check_inverse=True)
    powered = preprocessing.FunctionTransformer(powers, kw_args={"degree": 3, "scale": 2.0}, validate=True)
    repr(powered)
    return (
        there_and_back.fit_transform(abs(X)),
        there_and_back.inverse_transform(X),
        powered.fit_transform(X),
        base.clone(powered).fit_transform(X),
    )


@both_ways(rtol=1e-6)
def test_pipeline(jit):
    squares = preprocessing.FunctionTransformer(jit(lambda X: np.hstack([X, X**2])))
    model = pipeline.make_pipeline(squares, linear_model.LogisticRegression()).fit(X, CLASSES)
    assert "FunctionTransformer" in model._repr_html_()
    again = base.clone(model).set_params(logisticregression__C=2.0).fit(X, CLASSES)
    return model.predict_proba(X), again.score(X, CLASSES)


@pytest.mark.parametrize("algorithm", ["brute", "ball_tree"])
@both_ways()
def test_metrics_of_neighbours(jit, algorithm):
    euclid = jit(lambda a, b: np.sqrt(np.sum((a - b) ** 2)))
    power = jit(lambda a, b, p: np.sum(abs(a - b) ** p))
    closest = neighbors.NearestNeighbors(metric=euclid, algorithm=algorithm).fit(X)
    classes = neighbors.KNeighborsClassifier(metric=euclid, algorithm=algorithm).fit(X, CLASSES)
    powered = neighbors.KNeighborsRegressor(metric=power, metric_params={"p": 3}, algorithm=algorithm).fit(X, TARGET)
    weighed = neighbors.KNeighborsRegressor(weights=jit(lambda d: np.exp(-d)), algorithm=algorithm).fit(X, TARGET)
    return closest.kneighbors(X), classes.predict(X), powered.predict(X), weighed.predict(X)


@both_ways()
def test_metrics_of_clusters(jit):
    metric = jit(lambda a, b: abs(a - b).sum())
    return (
        cluster.DBSCAN(eps=2.0, metric=metric).fit_predict(X),
        cluster.OPTICS(metric=metric).fit_predict(X),
        metrics.silhouette_score(X, CLASSES, metric=metric),
        metrics.pairwise_distances(X, metric=metric, n_jobs=2),
    )


@both_ways(rtol=1e-6)
def test_kernels(jit):
    product, close = jit(lambda A, B: (A @ B.T + 1) ** 2), jit(lambda a, b: np.exp(-np.sum((a - b) ** 2)))
    with_gamma = jit(lambda a, b, gamma=1.0: np.exp(-gamma * np.sum((a - b) ** 2)))
    process = gaussian_process.GaussianProcessRegressor(
        gaussian_process.kernels.PairwiseKernel(metric=with_gamma), optimizer=None, alpha=0.1
    )
    return (
        svm.SVC(kernel=product).fit(X, CLASSES).predict(X),
        metrics.pairwise.pairwise_kernels(X, metric=close),
        kernel_approximation.Nystroem(close, n_components=10, random_state=0).fit_transform(X),
        kernel_ridge.KernelRidge(kernel=close).fit(X, TARGET).predict(X),
        process.fit(X, TARGET).predict(X),
    )


@both_ways()
def test_scores(jit):
    @jit
    def loss(truth, guess, sample_weight=None):
        if sample_weight is None:
            return np.mean(abs(truth - guess))
        return np.average(abs(truth - guess), weights=sample_weight)

    score, ridge = metrics.make_scorer(loss, greater_is_better=False), linear_model.Ridge().fit(X, TARGET)
    assert "loss" in repr(score)
    search = model_selection.GridSearchCV(linear_model.Ridge(), {"alpha": [0.1, 1, 10]}, scoring=score).fit(X, TARGET)
    importance = inspection.permutation_importance(ridge, X, TARGET, scoring=score, n_repeats=2, random_state=0)
    return (
        model_selection.cross_val_score(linear_model.Ridge(), X, TARGET, scoring=score),
        search.best_params_["alpha"],
        score(ridge, X, TARGET, sample_weight=np.arange(60.0)),
        importance.importances_mean,
    )


@left_to_ci
@both_ways()
def test_scores_in_other_processes(jit):
    score = metrics.make_scorer(jit(lambda truth, guess: np.mean(abs(truth - guess))))
    return model_selection.cross_val_score(linear_model.Ridge(), X, TARGET, scoring=score, n_jobs=2)


@both_ways(rtol=1e-6)
def test_other_functions_of_the_user(jit):
    contrast = jit(lambda x: (x**3, (3 * x**2).mean(axis=-1)))
    back = {"func": jit(np.cbrt), "inverse_func": jit(lambda v: v**3)}
    loss = jit(lambda truth, guess: abs(truth - guess))
    return (
        feature_selection.SelectKBest(jit(lambda X, y: np.abs(X.T @ (y - y.mean()))), k=2).fit_transform(X, TARGET),
        abs(decomposition.FastICA(2, fun=contrast, random_state=0, whiten="unit-variance").fit_transform(X)),
        compose.TransformedTargetRegressor(linear_model.Ridge(), **back).fit(X, TARGET).predict(X),
        linear_model.RANSACRegressor(loss=loss, random_state=0).fit(X, TARGET).predict(X),
    )

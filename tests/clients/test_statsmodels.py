"""statsmodels' models of the user's likelihood, given jitted functions."""

import numpy as np
import pytest
from both_ways import both_ways

sm = pytest.importorskip("statsmodels.api")
from statsmodels.base.model import GenericLikelihoodModel  # noqa: E402
from statsmodels.tools.numdiff import approx_fprime, approx_fprime_cs, approx_hess  # noqa: E402

RNG = np.random.default_rng(3)
X = sm.add_constant(RNG.normal(size=(60, 2)))
COUNTS = RNG.poisson(np.exp(0.3 * X[:, 1] + 0.5))
# Newton's steps end where the differences, which are rounded, say so.
CLOSE = {"rtol": 1e-3, "atol": 1e-5}


@both_ways(**CLOSE)
def test_likelihood_in_a_function(jit):
    @jit
    def log_likelihoods(beta, counts, X):
        mu = np.exp(X @ beta)
        return counts * np.log(mu) - mu

    class Poisson(GenericLikelihoodModel):
        def loglikeobs(self, params):
            return log_likelihoods(params, self.endog, self.exog)

    found = Poisson(COUNTS, X).fit(start_params=np.zeros(3), disp=0, method="bfgs")
    assert "Poisson" in str(found.summary())
    return found.params, found.bse, found.llf


@both_ways(**CLOSE)
def test_likelihood_as_a_method(jit):
    class Poisson(GenericLikelihoodModel):
        @jit
        def nloglikeobs(self, params):
            mu = np.exp(self.exog @ params)
            return mu - self.endog * np.log(mu)

    found = Poisson(COUNTS, X).fit(start_params=np.zeros(3), disp=0, method="bfgs")
    return found.params, found.bse


@both_ways(**CLOSE)
def test_likelihood_as_an_argument(jit):
    model = GenericLikelihoodModel(COUNTS, X, loglike=jit(lambda beta: np.sum(COUNTS * (X @ beta) - np.exp(X @ beta))))
    return model.fit(start_params=np.zeros(3), disp=0, method="bfgs").params


@both_ways(rtol=1e-5, atol=1e-5)
def test_differences(jit):
    f = jit(lambda p: np.sum(p**3) * p[0])
    return approx_fprime(np.ones(3), f), approx_hess(np.ones(3), f), approx_fprime_cs(np.ones(3), f)

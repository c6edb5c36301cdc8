"""What ``scipy.optimize.brentq`` and ``bisect`` have compiled: the same steps, and so the same numbers of calls."""

import numpy as np


def brentq(f, xpre, xcur, xtol, rtol, most, args, full_output, disp):
    fpre, fcur = f(xpre, *args), f(xcur, *args)
    calls, rounds, is_found = 2, 0, fpre == 0 or fcur == 0
    if fpre == 0:
        xcur = xpre
    elif not is_found and np.signbit(fpre) == np.signbit(fcur):
        raise ValueError("f(a) and f(b) must have different signs")
    xblk = fblk = spre = scur = 0.0
    while not is_found and rounds < most:
        rounds += 1
        if fpre != 0 and fcur != 0 and np.signbit(fpre) != np.signbit(fcur):
            xblk, fblk = xpre, fpre
            spre = scur = xcur - xpre
        if abs(fblk) < abs(fcur):
            xpre, xcur, xblk = xcur, xblk, xcur
            fpre, fcur, fblk = fcur, fblk, fcur
        delta, middle = (xtol + rtol * abs(xcur)) / 2, (xblk - xcur) / 2
        if fcur == 0 or abs(middle) < delta:
            is_found = True
            break
        following, step = middle, middle
        if abs(spre) > delta and abs(fcur) < abs(fpre):
            if xpre == xblk:  # a secant
                tried = -fcur * (xcur - xpre) / (fcur - fpre)
            else:
                dpre, dblk = (fpre - fcur) / (xpre - xcur), (fblk - fcur) / (xblk - xcur)
                tried = -fcur * (fblk * dblk - fpre * dpre) / (dblk * dpre * (fblk - fpre))
            if 2 * abs(tried) < min(abs(spre), 3 * abs(middle) - delta):
                following, step = scur, tried
        spre, scur = following, step
        xpre, fpre = xcur, fcur
        if abs(scur) > delta:
            xcur += scur
        else:
            xcur += delta if middle > 0 else -delta
        fcur = f(xcur, *args)
        calls += 1
    return _result(xcur, calls, rounds, is_found, full_output, disp)


def bisect(f, xa, xb, xtol, rtol, most, args, full_output, disp):
    fa, fb = f(xa, *args), f(xb, *args)
    calls, rounds, is_found = 2, 0, fa == 0 or fb == 0
    x = xa if fa == 0 else xb
    if not is_found and np.signbit(fa) == np.signbit(fb):
        raise ValueError("f(a) and f(b) must have different signs")
    width = xb - xa
    while not is_found and rounds < most:
        rounds += 1
        width *= 0.5
        x = xa + width
        fx = f(x, *args)
        calls += 1
        if np.signbit(fx) == np.signbit(fa):
            xa = x
        is_found = fx == 0 or abs(width) < xtol + rtol * abs(x)
    return _result(x, calls, rounds, is_found, full_output, disp)


def _result(x, calls, rounds, is_found, full_output, disp):
    if disp and not is_found:
        raise RuntimeError(f"Failed to converge after {rounds} iterations.")
    return (float(x), calls, rounds, 0 if is_found else -2) if full_output else float(x)

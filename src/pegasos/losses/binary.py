"""Losses of one score and one target: those of the margin y·f of a class ±1, and that of a regression."""

from math import exp, log, log1p

from pegasos.losses.base import Loss

NO_PULL_BEYOND = 60.0  # margins at which log_loss pulls less than 1e-26: nothing but denormal numbers to come
NEWTON_STEPS = 60
NEWTON_PRECISION = 1e-14


class Margin(Loss):
    """A loss of the margin y·f: the dual variable is never negative."""

    @staticmethod
    def side(y):
        """A coefficient has the sign of its row's class."""
        return float(y)


class Hinge(Margin):
    """max(0, 1 - y·f)."""

    name = "hinge"
    dual_is_linear = True
    keeps_zero = True
    has_kink = True
    curvature = 1.0

    @staticmethod
    def value(y, f, epsilon):
        """Loss of one row."""
        return max(0.0, 1.0 - y * f)

    @staticmethod
    def pull(y, f, epsilon):
        """By `y` while the margin is strictly below 1."""
        return float(y) if y * f < 1.0 else 0.0

    @staticmethod
    def coordinate(beta, y, f, q, s, epsilon):
        """A step to margin 1, within the box [0, s]."""
        if q <= 0.0:
            return s if y * f < 1.0 else 0.0
        return min(max(beta + (1.0 - y * f) / q, 0.0), s)

    @staticmethod
    def pressure(beta, y, f, s, epsilon):
        """By what the margin is short of 1; a bound of the box may hold against it."""
        short = 1.0 - y * f
        if beta <= 0.0:
            return short
        return -short if beta >= s else abs(short)

    @staticmethod
    def expansion(y, f, epsilon, width):
        """A parabola from margin 1 down to 1 - width, and a straight line below it."""
        short = 1.0 - y * f
        if short <= 0.0:
            return 0.0, 0.0, 0.0
        if short < width:
            return 0.5 * short * short / width, y * short / width, 1.0 / width
        return short - 0.5 * width, float(y), 0.0

    @staticmethod
    def dual_term(beta, y, s, epsilon):
        """The dual variable itself."""
        return beta

    @staticmethod
    def feasible(beta, s):
        """Within [0, s]."""
        return min(max(beta, 0.0), s)


class SquaredHinge(Margin):
    """max(0, 1 - y·f)²."""

    name = "squared_hinge"
    dual_is_bounded = False
    pull_is_bounded = False
    keeps_zero = True
    curvature = 2.0

    @staticmethod
    def value(y, f, epsilon):
        """Loss of one row."""
        short = max(0.0, 1.0 - y * f)
        return short * short

    @staticmethod
    def pull(y, f, epsilon):
        """Twice what the margin is short of 1."""
        margin = y * f
        return 2.0 * y * (1.0 - margin) if margin < 1.0 else 0.0

    @staticmethod
    def coordinate(beta, y, f, q, s, epsilon):
        """The maximum of a parabola, not below 0."""
        return max(0.0, beta + (1.0 - y * f - beta / (2.0 * s)) / (max(q, 0.0) + 1.0 / (2.0 * s)))

    @staticmethod
    def pressure(beta, y, f, s, epsilon):
        """By what the margin, with its slack, is short of 1; 0 may hold against it."""
        short = 1.0 - y * f - beta / (2.0 * s)
        return short if beta <= 0.0 else abs(short)

    @staticmethod
    def expansion(y, f, epsilon, width):
        """A parabola below margin 1."""
        short = 1.0 - y * f
        if short <= 0.0:
            return 0.0, 0.0, 0.0
        return short * short, 2.0 * y * short, 2.0

    @staticmethod
    def dual_term(beta, y, s, epsilon):
        """beta - beta²/(4 s)."""
        return beta - beta * beta / (4.0 * s)

    @staticmethod
    def feasible(beta, s):
        """Not negative."""
        return max(beta, 0.0)


class LogLoss(Margin):
    """log(1 + exp(-y·f))."""

    name = "log_loss"

    @staticmethod
    def value(y, f, epsilon):
        """Loss of one row, without overflow."""
        margin = y * f
        return log1p(exp(-margin)) if margin > 0.0 else log1p(exp(margin)) - margin

    @staticmethod
    def pull(y, f, epsilon):
        """How improbable the model finds the row's class."""
        margin = y * f
        if margin < NO_PULL_BEYOND:
            return y * logistic(-margin)
        return 0.0

    @staticmethod
    def coordinate(beta, y, f, q, s, epsilon):
        """The root b of log((s-b)/b) = margin + (b-beta) q, by Newton's method within a bracket.

        In u = log(b/(s-b)) the equation is u + margin + (s·logistic(u) - beta) q = 0: increasing, with slope at least
        1, and without the singular ends that b has.
        """
        margin, q = y * f, max(q, 0.0)
        low, high = -margin - (s - beta) * q, -margin + beta * q
        u = min(max(0.0, low), high)
        for _ in range(NEWTON_STEPS):
            p = logistic(u)
            excess = u + margin + (s * p - beta) * q
            if excess > 0.0:
                high = u
            else:
                low = u
            after = u - excess / (1.0 + q * s * p * (1.0 - p))
            if not low <= after <= high:
                after = 0.5 * (low + high)
            done = abs(after - u) <= NEWTON_PRECISION * (1.0 + abs(u))
            u = after
            if done:
                break
        return s * logistic(u)

    @staticmethod
    def pressure(beta, y, f, s, epsilon):
        """By what the row's class is more or less probable than its dual variable says: no bound ever holds it."""
        return abs(s * logistic(-y * f) - beta)

    @staticmethod
    def expansion(y, f, epsilon, width):
        """All three from one exponential."""
        margin = y * f
        e = exp(-abs(margin))
        p = (e if margin > 0.0 else 1.0) / (1.0 + e)
        return log1p(e) + max(0.0, -margin), y * p, p * (1.0 - p)

    @staticmethod
    def dual_term(beta, y, s, epsilon):
        """s times the entropy of beta/s."""
        p = beta / s
        if p <= 0.0 or p >= 1.0:
            return 0.0
        return -s * (p * log(p) + (1.0 - p) * log1p(-p))

    @staticmethod
    def feasible(beta, s):
        """Within [0, s]."""
        return min(max(beta, 0.0), s)


class Tube(Loss):
    """A loss of the error y - f of a regression, free up to epsilon: the dual variable is the coefficient."""

    task = "regression"
    keeps_zero = True

    @staticmethod
    def side(y):
        """A dual variable has its own sign."""
        return 1.0


class EpsilonInsensitive(Tube):
    """max(0, |y - f| - epsilon)."""

    name = "epsilon_insensitive"
    has_kink = True
    curvature = 1.0

    @staticmethod
    def value(y, f, epsilon):
        """Loss of one row."""
        return max(0.0, abs(y - f) - epsilon)

    @staticmethod
    def pull(y, f, epsilon):
        """Towards the target, by 1 outside the tube."""
        short = y - f
        if abs(short) <= epsilon:
            return 0.0
        return 1.0 if short > 0.0 else -1.0

    @staticmethod
    def coordinate(beta, y, f, q, s, epsilon):
        """y - f soft-thresholded at epsilon, within the box [-s, s]."""
        short = y - f
        if q <= 0.0:
            if abs(short) <= epsilon:
                return 0.0
            return s if short > 0.0 else -s
        aim = beta * q + short
        if abs(aim) <= epsilon:
            return 0.0
        aim = (aim - epsilon if aim > 0.0 else aim + epsilon) / q
        return min(max(aim, -s), s)

    @staticmethod
    def pressure(beta, y, f, s, epsilon):
        """By what the residual leaves the tube on the variable's side; 0 and both bounds of the box may hold."""
        short = y - f if beta >= 0.0 else f - y
        if beta == 0.0:
            return abs(short) - epsilon
        return epsilon - short if abs(beta) >= s else abs(short - epsilon)

    @staticmethod
    def expansion(y, f, epsilon, width):
        """On each side of the tube a parabola over so much width, and a straight line beyond it."""
        short = y - f
        beyond = abs(short) - epsilon
        if beyond <= 0.0:
            return 0.0, 0.0, 0.0
        side = 1.0 if short > 0.0 else -1.0
        if beyond < width:
            return 0.5 * beyond * beyond / width, side * beyond / width, 1.0 / width
        return beyond - 0.5 * width, side, 0.0

    @staticmethod
    def dual_term(beta, y, s, epsilon):
        """y·beta - epsilon·|beta|."""
        return y * beta - epsilon * abs(beta)

    @staticmethod
    def feasible(beta, s):
        """Within [-s, s]."""
        return min(max(beta, -s), s)


class SquaredEpsilonInsensitive(Tube):
    """max(0, |y - f| - epsilon)²."""

    name = "squared_epsilon_insensitive"
    dual_is_bounded = False
    pull_is_bounded = False
    curvature = 2.0
    power = 2

    @staticmethod
    def value(y, f, epsilon):
        """Loss of one row."""
        beyond = max(0.0, abs(y - f) - epsilon)
        return beyond * beyond

    @staticmethod
    def pull(y, f, epsilon):
        """Towards the target, by twice the error beyond the tube."""
        short = y - f
        if abs(short) <= epsilon:
            return 0.0
        return 2.0 * (short - epsilon if short > 0.0 else short + epsilon)

    @staticmethod
    def coordinate(beta, y, f, q, s, epsilon):
        """The maximum of a parabola, soft-thresholded at epsilon."""
        q = max(q, 0.0)
        aim = beta * q + y - f
        if abs(aim) <= epsilon:
            return 0.0
        return (aim - epsilon if aim > 0.0 else aim + epsilon) / (q + 1.0 / (2.0 * s))

    @staticmethod
    def pressure(beta, y, f, s, epsilon):
        """By what the residual, with its slack, leaves the tube on the variable's side; 0 may hold."""
        short = y - f if beta >= 0.0 else f - y
        if beta == 0.0:
            return abs(short) - epsilon
        return abs(short - abs(beta) / (2.0 * s) - epsilon)

    @staticmethod
    def expansion(y, f, epsilon, width):
        """A parabola on each side of the tube."""
        short = y - f
        beyond = abs(short) - epsilon
        if beyond <= 0.0:
            return 0.0, 0.0, 0.0
        return beyond * beyond, 2.0 * beyond if short > 0.0 else -2.0 * beyond, 2.0

    @staticmethod
    def dual_term(beta, y, s, epsilon):
        """y·beta - epsilon·|beta| - beta²/(4 s)."""
        return y * beta - epsilon * abs(beta) - beta * beta / (4.0 * s)

    @staticmethod
    def feasible(beta, s):
        """Any number."""
        return beta


def logistic(u):
    """1 / (1 + exp(-u)) without overflow."""
    if u >= 0.0:
        return 1.0 / (1.0 + exp(-u))
    e = exp(u)
    return e / (1.0 + e)

"""Crammer–Singer: one loss over the scores of all classes, a group of columns that share lam, steps, stop and gap.

With ``f`` the scores of a row in the K columns of a group, ``label`` its class and ``s`` its weight::

    value(f, label)                         max over r of f_r + [r ≠ label] - f_label
    pulls(f, label, found)                  minus its sub-gradient: +1 on the class, -1 on its strongest rival
    coordinates(f, label, q, s, old, new)   the dual variables that maximise the dual, all K at once
    feasible(beta, label, s)                dual variables moved into their domain

The dual variables of a row are its coefficients in the K columns: their sum is 0, none but the own class's is positive
and that is at most s. Each array is one row's: K numbers.
"""

from pegasos.losses.base import Loss


def strongest_rival(f, label):
    """The other class of the highest score, the lowest of equals."""
    rival = 1 if label == 0 else 0
    for r in range(rival + 1, f.size):
        if r != label and f[r] > f[rival]:
            rival = r
    return rival


class CrammerSinger(Loss):
    """max over r of f_r + [r ≠ label] - f_label, over the classes r."""

    name = "crammer_singer"
    grouped = True
    dual_is_linear = True

    @staticmethod
    def value(f, label):
        """Loss of one row."""
        return max(0.0, 1.0 + f[strongest_rival(f, label)] - f[label])

    @staticmethod
    def pulls(f, label, found):
        """Minus the sub-gradient; whether the row pulls at all."""
        rival = strongest_rival(f, label)
        for r in range(f.size):
            found[r] = 0.0
        if f[label] - f[rival] < 1.0:
            found[label] = 1.0
            found[rival] = -1.0
            return True
        return False

    @staticmethod
    def coordinates(f, label, q, s, old, new):
        """Maximise the dual in the row's K variables: ``new = min(s·e, (g - θ)/q)``, ``g = q·old - f + e``, Σ new = 0.

        With caps c = s·e and z = g - q·c that is Σ (θ - z)₊ = q·s. Classes with z ≥ θ stay at their cap: taking θ for
        all classes and then for those below it, again and again, only lowers θ and ends after at most K rounds.
        (Rounding may raise it by a hair: a round that leaves no fewer classes is the last.)
        """
        if q <= 0.0:
            if CrammerSinger.pulls(f, label, new):
                new[label] = s
                new[strongest_rival(f, label)] = -s
            return
        for r in range(f.size):
            new[r] = q * old[r] - f[r]
        new[label] += 1.0 - q * s
        below, theta = 0, 0.0
        while True:
            count, total = 0, q * s
            for r in range(f.size):
                if below == 0 or new[r] < theta:
                    count += 1
                    total += new[r]
            if count == 0 or 0 < below <= count:  # 0: q·s is lost in rounding
                break
            below, theta = count, total / count
        for r in range(f.size):
            new[r] = min(0.0, (new[r] - theta) / q)
        new[label] += s

    @staticmethod
    def feasible(beta, label, s):
        """Move dual variables into their domain, in place."""
        own = 0.0
        for r in range(beta.size):
            if r != label:
                beta[r] = min(beta[r], 0.0)
                own -= beta[r]
        if own > s:
            for r in range(beta.size):
                beta[r] *= s / own
            own = s
        beta[label] = own

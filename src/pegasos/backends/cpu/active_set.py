"""Steps on the dual of a kernel machine that move the variables which violate its conditions most.

A column is: minimise ½ Σ βᵢβⱼKᵢⱼ - Σ pᵢβᵢ + ε Σ|βᵢ| + ½ Σ ridgeᵢβᵢ², low ≤ β ≤ high, where the sum of β over each
segment is kept, or over none. Fan, Chen & Lin (JMLR 2005). Of each variable the loops keep the slope of this objective
as β rises (`up`, infinity at its upper bound) and as it falls (`down`, minus infinity at its lower bound): apart at the
kink of ε|β|, the same elsewhere. At the optimum no `down` is above any `up` of its segment (above 0 where no sum is
kept).

All arrays hold the active variables side by side; `rows` are their rows of the kernel matrix. Kernel rows are in a
cache, `slots` tell where; the steps end where one is missing. A step goes over all active variables twice, in chunks
that stay in the nearest cache; extremes are kept for each place of a chunk, which compilers turn into SIMD, and looked
up at last.
"""

import numpy as np

from pegasos.backends.cpu.loops import jit
from pegasos.utils.jit_part import jit_part

SWIFT = {"reassoc", "contract", "nsz", "nnan"}  # no NaN: kernel values are finite, and infinity never meets infinity
CHUNK = 128  # variables
LEAST_CURVATURE = 1e-12  # of a step: kernels that are not positive definite have less
AT_GOAL, OUT_OF_STEPS, MISSING, STUCK = 0, 1, 2, 3  # why steps ended
NONE, SMALL, TWICE = np.float32(0.0), np.float32(1e-12), np.float32(2.0)
LEAST_LEFT = np.float32(1e-3)  # of a curvature, however well another variable can answer


@jit(fastmath=SWIFT)
def pair_steps(
    segments, rows, up, down, beta, low, high, diagonal, ridge, slots, cached, last_use, now, epsilon, tol, n_steps,
    own,
):  # fmt: skip
    """Move two variables of a segment at a time, against each other.

    The first is the one whose `up` is least, the second the one with the largest gain in the objective.

    Parameters
    ----------
    segments : ndarray of shape (n_segments, 2)
        First and end of the active variables of each.
    last_use, now
        When each slot of the cache was used last, and what to note for this call.
    own : ndarray of float32
        Room for a kernel value of each active variable.

    Returns
    -------
    status, place, steps, violation
        Why the steps ended, the variable whose row is missing, and the largest violation.
    """
    n_segments = segments.shape[0]
    least, most = np.empty(n_segments), np.empty(n_segments)
    lowest, highest, gains = np.empty((n_segments, CHUNK)), np.empty((n_segments, CHUNK)), np.empty(CHUNK, np.float32)
    for s in range(n_segments):
        clear(lowest[s], highest[s])
        for start in range(segments[s, 0], segments[s, 1], CHUNK):
            note_extremes(up, down, start, min(CHUNK, segments[s, 1] - start), lowest[s], highest[s])
        least[s], most[s] = least_of(lowest[s]), most_of(highest[s])
    steps, status, missing, violation = 0, OUT_OF_STEPS, -1, np.inf
    while True:
        s, violation = 0, -np.inf
        for k in range(n_segments):
            if most[k] - least[k] > violation:
                s, violation = k, most[k] - least[k]
        if violation <= tol:
            status = AT_GOAL
            break
        if steps == n_steps:
            break
        first, end = segments[s, 0], segments[s, 1]
        i = place_of(lowest[s], up, least[s], first, end)
        slot_i = slots[rows[i]]
        if slot_i < 0:
            status, missing = MISSING, i
            break
        last_use[slot_i] = now
        row_i = cached[slot_i]
        j = best_partner(row_i, own, rows, down, diagonal, first, end, least[s], diagonal[i], gains)
        if j < 0:
            status = STUCK
            break
        slot_j = slots[rows[j]]
        if slot_j < 0:
            last_use[slot_i] = now + 1  # it must not leave for the other
            status, missing = MISSING, j
            break
        last_use[slot_j] = now
        row_j = cached[slot_j]
        for k in range(n_segments):  # the partner's segment is known already
            if k != s:
                gather(row_i, own, rows, segments[k, 0], segments[k, 1])
        delta = (down[j] - up[i]) / max(diagonal[i] + diagonal[j] - 2.0 * own[j], LEAST_CURVATURE)
        slope_i, end_i = up[i], high[i]
        slope_j, end_j = down[j], low[j]
        if epsilon > 0.0:
            slope_i += epsilon if beta[i] < 0.0 else -epsilon
            slope_j += -epsilon if beta[j] > 0.0 else epsilon
            if beta[i] < 0.0:
                end_i = 0.0
            if beta[j] > 0.0:
                end_j = 0.0
        room_i, room_j = end_i - beta[i], beta[j] - end_j
        delta = min(delta, min(room_i, room_j))
        beta[i] = end_i if delta == room_i else beta[i] + delta
        beta[j] = end_j if delta == room_j else beta[j] - delta
        set_slopes(up, down, i, slope_i + ridge[i] * delta, beta[i], low[i], high[i], epsilon)
        set_slopes(up, down, j, slope_j - ridge[j] * delta, beta[j], low[j], high[j], epsilon)
        for k in range(n_segments):
            clear(lowest[k], highest[k])
            for start in range(segments[k, 0], segments[k, 1], CHUNK):
                width = min(CHUNK, segments[k, 1] - start)
                gather_chunk(row_j, gains, rows, start, width, 0)
                place = np.uintp(start)
                for l in range(np.uintp(width)):
                    change = delta * (np.float64(own[place + l]) - np.float64(gains[l]))
                    up[place + l] += change
                    down[place + l] += change
                note_extremes(up, down, start, width, lowest[k], highest[k])
            least[k], most[k] = least_of(lowest[k]), most_of(highest[k])
        steps += 1
    return status, missing, steps, violation


@jit(fastmath=SWIFT)
def free_steps(
    rows, up, down, beta, low, high, diagonal, inverse_root, ridge, slots, cached, last_use, now, epsilon, tol, n_steps,
    own,
):  # fmt: skip
    """Move the variable with the largest gain in the objective, and with it a second one; no sum is kept.

    The second one gains most where the first is free to answer it: on kernels whose values are much alike, single
    variables gain little (Steinwart, Hush & Scovel, JMLR 2011). `inverse_root` is one over the root of each variable's
    curvature. See `pair_steps` for the rest.
    """
    n_active = rows.size
    largest, gains, values = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK, np.float32)
    clear(gains, largest)
    for start in range(0, n_active, CHUNK):
        note_gains(up, down, inverse_root, start, min(CHUNK, n_active - start), largest, gains)
    steps, status, missing, violation = 0, OUT_OF_STEPS, -1, most_of(largest)
    while True:
        if violation <= tol:
            status = AT_GOAL
            break
        if steps == n_steps:
            break
        lane, best = 0, gains[0]
        for l in range(min(CHUNK, n_active)):
            if gains[l] < best:
                lane, best = l, gains[l]
        i, top = lane, -np.inf
        for t in range(lane, n_active, CHUNK):
            gain = max(-up[t], down[t]) * inverse_root[t]
            if gain > top:
                i, top = t, gain
        slot_i = slots[rows[i]]
        if slot_i < 0:
            status, missing = MISSING, i
            break
        last_use[slot_i] = now
        curvature_i = max(diagonal[i], LEAST_CURVATURE)
        slope_i, least_i, most_i = piece_of(up, down, beta, low, high, i, epsilon)
        delta_i = min(max(-slope_i / curvature_i, least_i), most_i)
        up_i, down_i = up[i], down[i]
        up[i], down[i] = np.inf, -np.inf  # it is not its own partner
        j = best_second(cached[slot_i], own, rows, up, down, diagonal, n_active, delta_i, curvature_i, values)
        up[i], down[i] = up_i, down_i
        delta_j, slope_j, slot_j = 0.0, 0.0, slot_i
        if j >= 0:
            slot_j = slots[rows[j]]
            if slot_j < 0:
                last_use[slot_i] = now + 1  # it must not leave for the other
                status, missing = MISSING, j
                break
            last_use[slot_j] = now
            common, curvature_j = np.float64(own[j]), max(diagonal[j], LEAST_CURVATURE)
            change = delta_i * common
            rises = -(up[j] + change) >= down[j] + change
            slope_j, least_j, most_j = piece_towards(up, down, beta, low, high, j, epsilon, rises)
            left = max(curvature_j - common * common / curvature_i, 1e-3 * curvature_j)
            alone = 0.5 * curvature_i * delta_i * delta_i + slope_i * delta_i
            two = min(max(-(slope_j - common * slope_i / curvature_i) / left, least_j), most_j)
            one = min(max(-(slope_i + common * two) / curvature_i, least_i), most_i)
            two = min(max(-(slope_j + common * one) / curvature_j, least_j), most_j)
            together = slope_i * one + slope_j * two + common * one * two
            together += 0.5 * (curvature_i * one * one + curvature_j * two * two)
            if together < alone:
                delta_i, delta_j = one, two
        if delta_i == 0.0 and delta_j == 0.0:
            status = STUCK
            break
        move(up, down, beta, low, high, ridge, i, slope_i, delta_i, least_i, most_i, epsilon)
        if delta_j != 0.0:
            move(up, down, beta, low, high, ridge, j, slope_j, delta_j, least_j, most_j, epsilon)
        clear(gains, largest)
        for start in range(0, n_active, CHUNK):
            width = min(CHUNK, n_active - start)
            place = np.uintp(start)
            if delta_j != 0.0:
                gather_chunk(cached[slot_j], values, rows, start, width, 0)
                for l in range(np.uintp(width)):
                    change = delta_i * np.float64(own[place + l]) + delta_j * np.float64(values[l])
                    up[place + l] += change
                    down[place + l] += change
            else:
                for l in range(np.uintp(width)):
                    change = delta_i * np.float64(own[place + l])
                    up[place + l] += change
                    down[place + l] += change
            note_gains(up, down, inverse_root, start, width, largest, gains)
        violation = most_of(largest)
        steps += 1
    return status, missing, steps, violation


@jit_part
def clear(lowest, highest):
    """No extremes yet."""
    for l in range(CHUNK):
        lowest[l] = np.inf
        highest[l] = -np.inf


@jit_part
def note_extremes(up, down, start, width, lowest, highest):
    """The extremes so far at each place of a chunk."""
    first = np.uintp(start)
    for l in range(np.uintp(width)):
        lowest[l] = min(lowest[l], up[first + l])
    for l in range(np.uintp(width)):
        highest[l] = max(highest[l], down[first + l])


@jit_part
def note_gains(up, down, inverse_root, start, width, largest, gains):
    """The largest violation so far at each place of a chunk, and minus the largest root of a gain."""
    first = np.uintp(start)
    for l in range(np.uintp(width)):
        largest[l] = max(largest[l], max(-up[first + l], down[first + l]))
    for l in range(np.uintp(width)):
        gains[l] = min(gains[l], min(up[first + l], -down[first + l]) * inverse_root[first + l])


@jit_part
def least_of(lowest):
    """The least number of all places."""
    least = np.inf
    for l in range(CHUNK):
        least = min(least, lowest[l])
    return least


@jit_part
def most_of(highest):
    """The largest number of all places."""
    most = -np.inf
    for l in range(CHUNK):
        most = max(most, highest[l])
    return most


@jit_part
def place_of(lowest, up, least, first, end):
    """The variable whose `up` is the least of all."""
    lane = 0
    while lowest[lane] > least:
        lane += 1
    place = first + lane
    while place + CHUNK < end and up[place] > least:
        place += CHUNK
    return place


@jit_part
def gather_chunk(row, out, rows, start, width, at):
    """The values of a kernel row for some variables."""
    first, begin, place = np.uintp(rows[start]), np.uintp(start), np.uintp(at)
    if rows[start + width - 1] - rows[start] == width - 1:
        for l in range(np.uintp(width)):
            out[place + l] = row[first + l]
    else:
        for l in range(np.uintp(width)):
            out[place + l] = row[np.uintp(rows[begin + l])]


@jit_part
def gather(row, out, rows, first, end):
    """The values of a kernel row for the variables of a segment."""
    for start in range(first, end, CHUNK):
        gather_chunk(row, out, rows, start, min(CHUNK, end - start), start)


@jit_part
def best_partner(row_i, own, rows, down, diagonal, first, end, lowest, curvature_i, gains):
    """The variable of a segment that gains most as it falls while the one of slope `lowest` rises; -1: none gains.

    Gains are compared in float32; they only choose.
    """
    for l in range(CHUNK):
        gains[l] = NONE
    for start in range(first, end, CHUNK):
        width = min(CHUNK, end - start)
        gather_chunk(row_i, own, rows, start, width, start)
        begin = np.uintp(start)
        for l in range(np.uintp(width)):
            slope = max(np.float32(down[begin + l] - lowest), NONE)
            curvature = np.float32(curvature_i + diagonal[begin + l]) - TWICE * np.float32(own[begin + l])
            gains[l] = max(gains[l], slope * slope / max(curvature, SMALL))
    lane, best = -1, NONE
    for l in range(CHUNK):
        if gains[l] > best:
            lane, best = l, gains[l]
    place, top = -1, -1.0
    if lane >= 0:
        for t in range(first + lane, end, CHUNK):
            slope = down[t] - lowest
            if slope > 0.0:
                gain = slope * slope / max(curvature_i + diagonal[t] - 2.0 * own[t], LEAST_CURVATURE)
                if gain > top:
                    place, top = t, gain
    return place


@jit_part
def set_slopes(up, down, i, slope, value, low, high, epsilon):
    """The slopes of a variable, from that of the smooth part of the objective."""
    up[i] = np.inf if value >= high else slope + (epsilon if value >= 0.0 else -epsilon)
    down[i] = -np.inf if value <= low else slope + (epsilon if value > 0.0 else -epsilon)


@jit_part
def piece_of(up, down, beta, low, high, i, epsilon):
    """The piece of the objective that a variable falls into as it gains: its slope, and how far it reaches."""
    rises = -up[i] >= down[i]
    return piece_towards(up, down, beta, low, high, i, epsilon, rises)


@jit_part
def piece_towards(up, down, beta, low, high, i, epsilon, rises):
    """The piece of the objective above a variable's value, or below it: its slope, and how far it reaches."""
    slope = up[i] if rises else down[i]
    least, most = low[i], high[i]
    if epsilon > 0.0:
        if beta[i] > 0.0 or (rises and beta[i] == 0.0):
            least = max(least, 0.0)
        else:
            most = min(most, 0.0)
    return slope, least - beta[i], most - beta[i]


@jit_part
def best_second(row, own, rows, up, down, diagonal, n_active, delta, curvature, gains):
    """The variable that gains most after a step of the first, which answers it; -1: none gains."""
    share = np.float32(1.0 / curvature)
    for l in range(CHUNK):
        gains[l] = NONE
    for start in range(0, n_active, CHUNK):
        width = min(CHUNK, n_active - start)
        gather_chunk(row, own, rows, start, width, start)
        begin = np.uintp(start)
        for l in range(np.uintp(width)):
            value = own[begin + l]
            change = delta * np.float64(value)
            slope = max(np.float32(max(-up[begin + l] - change, down[begin + l] + change)), NONE)
            left = np.float32(diagonal[begin + l])
            left = max(left - value * value * share, LEAST_LEFT * left)
            gains[l] = max(gains[l], slope * slope / max(left, SMALL))
    lane, best = -1, NONE
    for l in range(CHUNK):
        if gains[l] > best:
            lane, best = l, gains[l]
    place, top = -1, NONE
    if lane >= 0:
        for t in range(lane, n_active, CHUNK):
            value = own[t]
            change = delta * np.float64(value)
            slope = max(np.float32(max(-up[t] - change, down[t] + change)), NONE)
            left = np.float32(diagonal[t])
            left = max(left - value * value * share, LEAST_LEFT * left)
            gain = slope * slope / max(left, SMALL)
            if gain > top:
                place, top = t, gain
    return place


@jit_part
def move(up, down, beta, low, high, ridge, i, slope, delta, least, most, epsilon):
    """Move a variable within its piece, and set its own slopes as far as kernel values have no part in them."""
    kink = 0.0
    if epsilon > 0.0:
        kink = epsilon if beta[i] + most > 0.0 else -epsilon
    after = beta[i] + delta
    if delta == most:
        after = high[i] if epsilon == 0.0 or kink > 0.0 else min(high[i], 0.0)
    elif delta == least:
        after = low[i] if epsilon == 0.0 or kink < 0.0 else max(low[i], 0.0)
    beta[i] = after
    set_slopes(up, down, i, slope - kink + ridge[i] * delta, after, low[i], high[i], epsilon)

"""One number out of bytes, compiled: the one that Python's float() gives, or it is said to be hard.

Short numbers are exact products of two exact floats (W. Clinger, How to read floating point numbers accurately, 1990).
Longer ones go by the method of M. Eisel and D. Lemire (Number parsing at a gigabyte per second, 2021): 64 digits of the
decimal number, in base two, times 128 of the power of five; the few cases that this leaves open are "hard" and handed
to float() by the caller.
"""

from __future__ import annotations

import numpy as np

from pegasos.utils.jit import njit

GOOD, HARD, NO_NUMBER = 0, 1, 2

_LOWEST, _HIGHEST = -342, 308  # powers of ten beyond which every 64-bit number times them is 0 or infinite
_MOST_DIGITS = 19  # that fit into 64 bits
_HIGHEST_EXPONENT = 10**17  # higher ones are taken for it: digits before or behind the point make up for none of them
_EXACT = np.uint64(2**53)
_TENS = 10.0 ** np.arange(23)


def _powers_of_five() -> tuple[np.ndarray, np.ndarray]:
    """The leading 128 bits of 5^q for all q, in halves: truncated, but rounded up where numbers half way can occur."""
    powers = []
    for q in range(_LOWEST, _HIGHEST + 1):
        size = (5 ** abs(q)).bit_length()
        if q >= 0:
            power = 5**q << 128 >> size
        elif q >= -27:
            power = (1 << (size + 127)) // 5**-q + 1
        else:
            power = (1 << (size + 127)) // 5**-q
        powers.append(power)
    return np.array([power >> 64 for power in powers], np.uint64), np.array([p % 2**64 for p in powers], np.uint64)


_FIVES_HIGH, _FIVES_LOW = _powers_of_five()


@njit(nogil=True, inline="always")
def _product(a, b):
    """The 128 bits of a times b, in halves."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a_low, a_high, b_low, b_high = a & mask, a >> half, b & mask, b >> half
    low = a_low * b_low
    middle = a_high * b_low + (low >> half)
    other = a_low * b_high + (middle & mask)
    return a_high * b_high + (middle >> half) + (other >> half), (other << half) | (low & mask)


@njit(nogil=True)
def _leading_zeros(w):
    count = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if (w >> np.uint64(64 - shift)) == np.uint64(0):
            w <<= np.uint64(shift)
            count += shift
    return count


@njit(nogil=True)
def _nearest(w, q):
    """(w·10^q rounded to the nearest float, whether that is certain) for 0 < w < 2^64."""
    if q < _LOWEST or q > _HIGHEST:
        return 0.0, False
    zeros = _leading_zeros(w)
    w <<= np.uint64(zeros)
    high, low = _product(w, _FIVES_HIGH[q - _LOWEST])
    if (high & np.uint64(0x1FF)) == np.uint64(0x1FF):  # the digits dropped so far could still carry
        more, _ = _product(w, _FIVES_LOW[q - _LOWEST])
        low += more
        if more > low:
            high += np.uint64(1)
    if low == np.uint64(0xFFFFFFFFFFFFFFFF) and (q < -27 or q > 55):
        return 0.0, False
    upper = high >> np.uint64(63)
    mantissa = high >> (upper + np.uint64(9))
    exponent = ((217706 * q) >> 16) + 63 + int(upper) - zeros + 1023
    if exponent <= 0:  # less than the smallest normal number
        return 0.0, False
    one, three = np.uint64(1), np.uint64(3)
    if low <= one and -4 <= q <= 23 and (mantissa & three) == one and (mantissa << (upper + np.uint64(9))) == high:
        mantissa &= ~one  # exactly half way: to even
    mantissa = (mantissa + (mantissa & one)) >> one
    if mantissa >= np.uint64(2**53):
        mantissa = np.uint64(2**52)
        exponent += 1
    if exponent >= 2047:
        return 0.0, False
    bits = (mantissa & np.uint64(2**52 - 1)) | (np.uint64(exponent) << np.uint64(52))
    return np.uint64(bits).view(np.float64), True


@njit(nogil=True)
def _first_digits(buffer, at, end):
    """(the first 19 digits of a long mantissa that are not leading zeros, their power of ten, whether more follow)."""
    w, taken, power = np.uint64(0), 0, 0
    behind_point = more = False
    for i in range(at, end):
        if buffer[i] == 46:
            behind_point = True
            continue
        if taken < _MOST_DIGITS:
            w = w * np.uint64(10) + np.uint64(buffer[i] - 48)
            taken += 1 if w > np.uint64(0) else 0
            power -= 1 if behind_point else 0
        else:
            more |= buffer[i] != 48
            power += 0 if behind_point else 1
    return w, power, more


@njit(nogil=True)
def parse_number(buffer, at, end):
    """(value, position behind it, GOOD, HARD or NO_NUMBER) of the number that begins at `at`.

    A signed index could count from the end, and would be tested for that at each digit; an unsigned one is not.
    """
    i = at
    negative = False
    if i < end and (buffer[i] == 45 or buffer[i] == 43):
        negative = buffer[i] == 45
        i += 1
    first = i
    w, ten, zero, nine = np.uint64(0), np.uint64(10), np.uint64(48), np.uint64(9)
    while i < end:
        digit = np.uint64(buffer[np.uintp(i)]) - zero
        if digit > nine:
            break
        w = w * ten + digit
        i += 1
    digits = i - first
    power = 0
    if i < end and buffer[i] == 46:
        i += 1
        point = i
        while i < end:
            digit = np.uint64(buffer[np.uintp(i)]) - zero
            if digit > nine:
                break
            w = w * ten + digit
            i += 1
        power = point - i
        digits -= power
    if digits == 0:
        return 0.0, at, NO_NUMBER
    more = False
    if digits > _MOST_DIGITS:
        w, power, more = _first_digits(buffer, first, i)
    if i < end and (buffer[i] | 32) == 101:
        i += 1
        minus = i < end and buffer[i] == 45
        if i < end and (buffer[i] == 45 or buffer[i] == 43):
            i += 1
        start = i
        exponent = 0
        while i < end:
            digit = np.uint64(buffer[np.uintp(i)]) - zero
            if digit > nine:
                break
            exponent = min(exponent * 10 + int(digit), _HIGHEST_EXPONENT)
            i += 1
        if i == start:
            return 0.0, at, NO_NUMBER
        power += -exponent if minus else exponent
    value = 0.0
    state = GOOD
    if w == np.uint64(0):
        pass
    elif w < _EXACT and -22 <= power <= 22 and not more:
        value = np.float64(w)
        value = value * _TENS[power] if power >= 0 else value / _TENS[-power]
    else:
        value, certain = _nearest(w, power)
        if more and certain:  # the number lies between w and w + 1; both must round to the same
            above, certain = _nearest(w + np.uint64(1), power)
            certain = certain and above == value
        state = GOOD if certain else HARD
    return -value if negative else value, i, state

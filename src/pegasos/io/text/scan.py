"""Lines to numbers: the compiled inner loops of reading large text, called by `compiled_parser`."""

from __future__ import annotations

import numpy as np

from pegasos.io.text.numbers import GOOD, HARD, NO_NUMBER, parse_number
from pegasos.utils.jit import njit

TAB, NEWLINE, RETURN, SPACE, HASH, COMMA, COLON = 9, 10, 13, 32, 35, 44, 58

EXACT = 2.0**53  # a float64 holds every whole number below


@njit(nogil=True)
def count(buffer, begin, end, byte):
    """How often a byte occurs in buffer[begin:end]. Sums of a few are bytes themselves: many are added at once."""
    found, wanted = 0, np.uint8(byte)
    for first in range(begin, end, 128):
        part = np.uint8(0)
        for i in range(first, min(first + 128, end)):
            part = np.uint8(part + np.uint8(buffer[np.uintp(i)] == wanted))
        found += int(part)
    return found


@njit(nogil=True, inline="always")
def _skip_blanks(buffer, i, end, tabs):
    while i < end and (buffer[i] == SPACE or buffer[i] == RETURN or (tabs and buffer[i] == TAB)):
        i += 1
    return i


@njit(nogil=True)
def _next_line(buffer, i, end):
    while i < end and buffer[i] != NEWLINE:
        i += 1
    return i + 1


@njit(nogil=True)
def _skip_token(buffer, i, end):
    while i < end and buffer[i] > SPACE and buffer[i] != HASH:
        i += 1
    return i


@njit(nogil=True)
def _holds(buffer, begin, end, byte):
    found = False
    for i in range(begin, end):
        found |= buffer[i] == byte
    return found


@njit(nogil=True)
def _is_query(buffer, i, end):
    return i + 3 < end and buffer[i] == 113 and buffer[i + 1] == 105 and buffer[i + 2] == 100 and buffer[i + 3] == COLON


@njit(nogil=True)
def _skip_text(buffer, i, end, delimiter):
    """The end of a field of text: its delimiter, or the end of the line."""
    while i < end and buffer[i] != NEWLINE:
        if buffer[i] == delimiter or (delimiter == SPACE and (buffer[i] == TAB or buffer[i] == RETURN)):
            break
        i += 1
    return i


@njit(nogil=True)
def _stripped(buffer, begin, end, padded):
    """A stretch without the returns behind it, and, if it is padded, without the blanks around it."""
    while begin < end and (buffer[end - 1] == RETURN or (padded and _is_blank(buffer[end - 1]))):
        end -= 1
    while padded and begin < end and _is_blank(buffer[begin]):
        begin += 1
    return begin, end


@njit(nogil=True, inline="always")
def _is_blank(byte):
    return byte in (SPACE, RETURN, TAB)


@njit(nogil=True)
def _fields(buffer, i, end, delimiter):
    """How many fields a line has."""
    found = 1
    if delimiter == SPACE:
        found = 0
        while i < end and buffer[i] != NEWLINE:
            i = _skip_blanks(buffer, i, end, True)
            if i < end and buffer[i] != NEWLINE:
                found += 1
            i = _skip_text(buffer, i, end, delimiter)
        return found
    while i < end and buffer[i] != NEWLINE:
        found += buffer[i] == delimiter
        i += 1
    return found


@njit(nogil=True)
def _note_hard(hard, n_hard, begin, end, row, place):
    """Keep where a hard number stands, if there is room; how many there are."""
    if n_hard < hard.shape[0]:
        hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2], hard[n_hard, 3] = begin, end, row, place
    return n_hard + 1


@njit(nogil=True)
def _note_label(buffer, start, end, labels, spans, row):
    """Keep a label as a number, and where it stands; whether it is text, or for another reason not a plain number.

    Numbers that a float may not tell apart are none: there are no two floats for 2^53 and the number after it.
    """
    spans[row, 0], spans[row, 1] = start, end
    labels[row], behind, state = parse_number(buffer, start, end)
    sign = start < end and (buffer[start] == 45 or buffer[start] == 43)
    digit = start + 1 if sign else start
    code = digit + 1 < end and buffer[digit] == 48 and 48 <= buffer[digit + 1] <= 57  # 007 is a name
    return state != GOOD or behind != end or code or abs(labels[row]) >= EXACT


@njit(nogil=True)
def scan_table(buffer, begin, end, delimiter, padded, places, X, labels, spans, hard):
    """Read the lines of buffer[begin:end], in which nothing is quoted, into rows of X.

    `places` has for each column its place in X, -1 for the label and -2 for one to leave out; `delimiter` is SPACE for
    any run of blanks; `padded` says whether blanks around a label are left out. `spans` receives where each label
    stands. Returns the rows read, the beginning of the first line that is no row (-1: none), whether a label is text,
    and how many numbers are hard; as many as fit are in `hard` as (begin, end, row, place).
    """
    row = n_hard = 0
    text = False
    blanks = delimiter == SPACE
    tabs = delimiter != TAB
    i = begin
    while i < end:
        line = i
        i = _skip_blanks(buffer, i, end, True)
        if i >= end or buffer[i] == NEWLINE or buffer[i] == HASH:
            if i < end and buffer[i] == HASH and _fields(buffer, i, end, delimiter) == places.size:
                return row, line, text, n_hard  # not certainly a comment
            i = _next_line(buffer, i, end)
            continue
        i = line
        for column in range(places.size):
            if places[column] >= 0:
                start = i = _skip_blanks(buffer, i, end, tabs)
                value, i, state = parse_number(buffer, i, end)
                if state == NO_NUMBER:
                    return row, line, text, n_hard
                X[row, places[column]] = value
                if state == HARD:
                    n_hard = _note_hard(hard, n_hard, start, i, row, places[column])
            else:
                if blanks:
                    i = _skip_blanks(buffer, i, end, tabs)
                start = i
                i = _skip_text(buffer, i, end, delimiter)
                if places[column] == -1:
                    start, stop = _stripped(buffer, start, i, padded)
                    text |= _note_label(buffer, start, stop, labels, spans, row)
            behind = i
            i = _skip_blanks(buffer, i, end, tabs)
            if column < places.size - 1:
                if i >= end or buffer[i] == NEWLINE or (blanks and i == behind):
                    return row, line, text, n_hard
                if not blanks:
                    if buffer[i] != delimiter:
                        return row, line, text, n_hard
                    i += 1
            elif i < end and buffer[i] != NEWLINE:
                return row, line, text, n_hard
        i += 1
        row += 1
    return row, -1, text, n_hard


@njit(nogil=True)
def scan_entries(buffer, begin, end, values, indices, lengths, labels, spans, hard):
    """Read the LIBSVM lines of buffer[begin:end]: entries one after another, and the number of them in each row.

    A row without a label has an empty span at the beginning of its line. Returns the rows and entries read, the
    beginning of the first line that is none (-1: none), whether a label is text or absent, whether the indices of every
    row rise, and how many numbers are hard; as many as fit are in `hard` as (begin, end, 0, entry).
    """
    row = entry = n_hard = 0
    text, rising = False, True
    i = begin
    while i < end:
        line = i
        i = _skip_blanks(buffer, i, end, True)
        if i >= end or buffer[i] == NEWLINE or buffer[i] == HASH:
            i = _next_line(buffer, i, end)
            continue
        start = i
        i = _skip_token(buffer, i, end)
        if _holds(buffer, start, i, COLON):
            i = start
            spans[row, 0] = spans[row, 1] = line
            text = True
        else:
            if _holds(buffer, start, i, COMMA):  # several labels
                return row, entry, line, text, rising, n_hard
            text |= _note_label(buffer, start, i, labels, spans, row)
        before, last = entry, -1
        while True:
            i = _skip_blanks(buffer, i, end, True)
            if i >= end or buffer[i] == NEWLINE or buffer[i] == HASH:
                break
            start = i
            index = 0
            while i < end and 48 <= buffer[i] <= 57:
                index = min(index * 10 + int(buffer[i]) - 48, 2**31)
                i += 1
            if i == start and _is_query(buffer, i, end):
                i = _skip_token(buffer, i, end)
                continue
            if i == start or i >= end or buffer[i] != COLON or index > 2**31 - 2:
                return row, entry, line, text, rising, n_hard
            start = i + 1
            value, i, state = parse_number(buffer, start, end)
            if state == NO_NUMBER or (i < end and buffer[i] > SPACE and buffer[i] != HASH):
                return row, entry, line, text, rising, n_hard
            values[entry] = value
            indices[entry] = index
            rising &= index > last
            last = index
            if state == HARD:
                n_hard = _note_hard(hard, n_hard, start, i, 0, entry)
            entry += 1
        i = _next_line(buffer, i, end)
        lengths[row] = entry - before
        row += 1
    return row, entry, -1, text, rising, n_hard

"""What ``scipy.signal.find_peaks`` and its like have compiled, step by step as there."""

import numpy as np


def local_maxima_1d(x):
    """The middles, first and last places of the peaks, flat ones among them."""
    left, right = np.zeros(len(x) // 2, np.intp), np.zeros(len(x) // 2, np.intp)
    count, place, last = 0, 1, len(x) - 1
    while place < last:
        if x[place - 1] < x[place]:
            ahead = place + 1
            while ahead < last and x[ahead] == x[place]:
                ahead += 1
            if x[ahead] < x[place]:
                left[count], right[count] = place, ahead - 1
                count += 1
                place = ahead
        place += 1
    left, right = left[:count], right[:count]
    return (left + right) // 2, left, right


def select_by_peak_distance(peaks, priority, distance):
    distance = np.ceil(distance)
    keep, order = np.ones(len(peaks), bool), np.argsort(priority)
    for rank in range(len(peaks) - 1, -1, -1):
        here = order[rank]
        if keep[here]:
            other = here - 1
            while other >= 0 and peaks[here] - peaks[other] < distance:
                keep[other] = False
                other -= 1
            other = here + 1
            while other < len(peaks) and peaks[other] - peaks[here] < distance:
                keep[other] = False
                other += 1
    return keep


def peak_prominences(x, peaks, wlen):
    prominences = np.zeros(len(peaks))
    left_bases, right_bases = np.zeros(len(peaks), np.intp), np.zeros(len(peaks), np.intp)
    for number in range(len(peaks)):
        peak = peaks[number]
        first, last = 0, len(x) - 1
        if wlen >= 2:
            first, last = max(peak - wlen // 2, first), min(peak + wlen // 2, last)
        least_left, base, place = x[peak], peak, peak
        while first <= place and x[place] <= x[peak]:
            if x[place] < least_left:
                least_left, base = x[place], place
            place -= 1
        left_bases[number] = base
        least_right, base, place = x[peak], peak, peak
        while place <= last and x[place] <= x[peak]:
            if x[place] < least_right:
                least_right, base = x[place], place
            place += 1
        right_bases[number] = base
        prominences[number] = x[peak] - max(least_left, least_right)
    return prominences, left_bases, right_bases


def peak_widths(x, peaks, rel_height, prominences, left_bases, right_bases):
    heights = np.zeros(len(peaks))
    lefts, rights = np.zeros(len(peaks)), np.zeros(len(peaks))
    for number in range(len(peaks)):
        peak, first, last = peaks[number], left_bases[number], right_bases[number]
        height = x[peak] - prominences[number] * rel_height
        place = peak
        while first < place and height < x[place]:
            place -= 1
        left = place + 0.0
        if x[place] < height:
            left += (height - x[place]) / (x[place + 1] - x[place])
        place = peak
        while place < last and height < x[place]:
            place += 1
        right = place + 0.0
        if x[place] < height:
            right -= (height - x[place]) / (x[place - 1] - x[place])
        heights[number], lefts[number], rights[number] = height, left, right
    return rights - lefts, heights, lefts, rights

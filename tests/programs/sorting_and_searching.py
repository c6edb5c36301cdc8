"""Sorting in place and with stacks, and searching."""

import numpy as np

from .registry import program


def numbers(rng, n=40):
    return (rng.integers(0, 100, n),)


def is_sorted(found, x, *others):
    return np.array_equal(found, np.sort(x))


def is_sorted_in_place(found, x):
    return np.array_equal(found[0], np.sort(x))


@program(numbers, is_sorted_in_place)
def bubble_sort(x):
    n = len(x)
    for i in range(n):
        swapped = False
        for j in range(0, n - i - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break


@program(lambda rng: (rng.normal(size=30),), is_sorted)
def insertion_sort(values):
    a = values.copy()
    for i in range(1, a.size):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


@program(numbers, is_sorted)
def quicksort_with_a_stack(x):
    a = np.array(x)
    stack = [(0, len(a) - 1)]
    while stack:
        low, high = stack.pop()
        if low >= high:
            continue
        pivot = a[high]
        i = low
        for j in range(low, high):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        stack.append((low, i - 1))
        stack.append((i + 1, high))
    return a


@program(lambda rng: (rng.uniform(size=37),), is_sorted)
def merge_sort(x):
    """From runs of one element upwards."""
    n = len(x)
    source = x.copy()
    width = 1
    while width < n:
        target = np.empty_like(source)
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            i, j = start, middle
            for k in range(start, end):
                if i < middle and (j >= end or source[i] <= source[j]):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
        source = target
        width *= 2
    return source


def sift_down(heap, root, end):
    while True:
        child = 2 * root + 1
        if child >= end:
            return
        if child + 1 < end and heap[child] < heap[child + 1]:
            child += 1
        if heap[root] >= heap[child]:
            return
        heap[root], heap[child] = heap[child], heap[root]
        root = child


@program(numbers, is_sorted_in_place)
def heap_sort(x):
    n = len(x)
    for root in range(n // 2 - 1, -1, -1):
        sift_down(x, root, n)
    for end in range(n - 1, 0, -1):
        x[0], x[end] = x[end], x[0]
        sift_down(x, 0, end)


@program(numbers, is_sorted)
def counting_sort(x):
    counts = np.zeros(x.max() + 1, dtype=int)
    for value in x:
        counts[value] += 1
    out = np.empty_like(x)
    position = 0
    for value, count in enumerate(counts):
        for _ in range(count):
            out[position] = value
            position += 1
    return out


@program(lambda rng: (np.sort(rng.choice(500, 60, replace=False)), rng.integers(0, 500, 20)))
def binary_search(haystack, needles):
    found = []
    for needle in needles:
        low, high = 0, len(haystack) - 1
        where = -1
        while low <= high:
            mid = (low + high) // 2
            if haystack[mid] == needle:
                where = mid
                break
            elif haystack[mid] < needle:
                low = mid + 1
            else:
                high = mid - 1
        found.append(where)
    return np.array(found)


@program(lambda rng: (rng.normal(size=51), 25), lambda found, x, k: found == np.sort(x)[k])
def quickselect(x, k):
    a = x.copy()
    left, right = 0, len(a) - 1
    while left < right:
        pivot = a[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i, j = i + 1, j - 1
        if k <= j:
            right = j
        elif k >= i:
            left = i
        else:
            break
    return a[k]


@program(lambda rng: (rng.integers(0, 6, 50),), lambda found, x: np.array_equal(np.repeat(*found), x))
def run_length_encoding(x):
    values = [x[0]]
    lengths = [1]
    for i in range(1, len(x)):
        if x[i] == x[i - 1]:
            lengths[-1] += 1
        else:
            values.append(x[i])
            lengths.append(1)
    return np.array(values), np.array(lengths)


@program(lambda rng: (rng.integers(-20, 20, 24), int(rng.integers(-5, 30))))
def pair_with_a_sum(numbers, target):
    order = np.argsort(numbers, kind="stable")
    i, j = 0, len(numbers) - 1
    while i < j:
        total = numbers[order[i]] + numbers[order[j]]
        if total == target:
            return int(order[i]), int(order[j])
        if total < target:
            i += 1
        else:
            j -= 1
    return None

"""``heapq``: a list is changed step by step as there, so that its elements lie where they do with Python."""


def heappush(heap, item):
    heap.append(item)
    _rise(heap, 0, len(heap) - 1, item)


def heappop(heap):
    if not heap:
        raise IndexError("index out of range")
    first = heap[0]
    last = heap.pop()
    if heap:
        heap[0] = last
        _sink(heap, 0)
    return first


def heapify(heap):
    for place in reversed(range(len(heap) // 2)):
        _sink(heap, place)


def heapreplace(heap, item):
    if not heap:
        raise IndexError("index out of range")
    first = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return first


def heappushpop(heap, item):
    if not heap or not heap[0] < item:
        return item
    return heapreplace(heap, item)


def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[: max(0, n)]


def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[: max(0, n)]


def merge(*iterables, key=None, reverse=False):
    """Two by two: which one is next depends on the first elements alone, also where the iterables are not in order."""
    lists = [list(one) for one in iterables]
    while len(lists) > 1:
        pairs = [_merged(first, second, key, reverse) for first, second in zip(lists[::2], lists[1::2])]
        lists = pairs + lists[2 * len(pairs) :]
    return iter(lists[0] if lists else [])


def _merged(first, second, key, reverse):
    found, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        one, other = (first[i], second[j]) if key is None else (key(first[i]), key(second[j]))
        if one < other if reverse else other < one:
            found.append(second[j])
            j += 1
        else:
            found.append(first[i])
            i += 1
    return found + first[i:] + second[j:]


def _rise(heap, top, place, item):
    """Let the element at this place go up as far as it is less than those above it."""
    while place > top:
        above = (place - 1) // 2
        other = heap[above]
        if not item < other:
            break
        heap[place] = other
        place = above
    heap[place] = item


def _sink(heap, top):
    """Let the element go down to the end, where the lesser ones below it are, and up from there."""
    item = heap[top]
    end = len(heap)
    place = top
    below = 2 * place + 1
    while below < end:
        other = heap[below]
        if below + 1 < end:
            right = heap[below + 1]
            if not other < right:
                below += 1
                other = right
        heap[place] = other
        place = below
        below = 2 * place + 1
    heap[place] = item
    _rise(heap, top, place, item)

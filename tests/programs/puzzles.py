"""Boards and puzzles: searches with stacks, queues and recursion."""

import numpy as np

from .registry import program

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


def sudoku(rng):
    digits = rng.permutation(9) + 1
    board = np.array([[digits[(3 * (r % 3) + r // 3 + c) % 9] for c in range(9)] for r in range(9)])
    board[rng.uniform(size=(9, 9)) < 0.4] = 0
    return (board,)


def sudoku_check(found, board):
    lines = [*found, *found.T, *(found[r : r + 3, c : c + 3].ravel() for r in (0, 3, 6) for c in (0, 3, 6))]
    return all(sorted(line) == list(range(1, 10)) for line in lines) and np.all((board == 0) | (board == found))


@program(sudoku, sudoku_check)
def solve_sudoku(board):
    grid = board.copy()
    free = np.argwhere(grid == 0)
    k = 0
    while 0 <= k < len(free):
        r, c = free[k]
        value = grid[r, c] + 1
        grid[r, c] = 0
        while value <= 9:
            block = grid[r // 3 * 3 : r // 3 * 3 + 3, c // 3 * 3 : c // 3 * 3 + 3]
            if not (np.any(grid[r] == value) or np.any(grid[:, c] == value) or np.any(block == value)):
                break
            value += 1
        if value <= 9:
            grid[r, c] = value
            k += 1
        else:
            k -= 1
    if k < 0:
        raise ValueError("there is no solution")
    return grid


@program(lambda rng: (6,), lambda found, n: found[0] == 4 and sorted(found[1]) == list(range(6)))
def queens(n):
    columns = -np.ones(n, dtype=int)
    row, solutions, first = 0, 0, None
    while row >= 0:
        columns[row] += 1
        if columns[row] == n:
            columns[row] = -1
            row -= 1
            continue
        safe = True
        for before in range(row):
            if columns[before] == columns[row] or abs(columns[before] - columns[row]) == row - before:
                safe = False
                break
        if not safe:
            continue
        if row == n - 1:
            solutions += 1
            if first is None:
                first = columns.copy()
        else:
            row += 1
    return solutions, first


def maze(rng):
    walls = rng.uniform(size=(10, 12)) < 0.25
    walls[0, 0] = walls[-1, -1] = False
    return walls, (0, 0), (9, 11)


@program(maze, lambda found, walls, start, goal: isinstance(found, tuple) or np.array_equal(found[[0, -1]], [start, goal]))
def shortest_way_through_a_maze(walls, start, goal):
    rows, columns = walls.shape
    distance = np.full(walls.shape, -1)
    distance[start] = 0
    queue = [start]
    while queue:
        r, c = queue.pop(0)
        if (r, c) == goal:
            break
        for dr, dc in MOVES:
            i, j = r + dr, c + dc
            if 0 <= i < rows and 0 <= j < columns and not walls[i, j] and distance[i, j] < 0:
                distance[i, j] = distance[r, c] + 1
                queue.append((i, j))
    if distance[goal] < 0:
        return None
    way = [goal]
    while way[-1] != start:
        r, c = way[-1]
        for dr, dc in MOVES:
            i, j = r + dr, c + dc
            if 0 <= i < rows and 0 <= j < columns and distance[i, j] == distance[r, c] - 1:
                way.append((i, j))
                break
    return np.array(way[::-1])


@program(lambda rng: (rng.integers(0, 100, (5, 7)),), lambda found, a: sorted(found) == sorted(a.ravel()))
def spiral(matrix):
    top, bottom, left, right = 0, matrix.shape[0] - 1, 0, matrix.shape[1] - 1
    out = []
    while top <= bottom and left <= right:
        out.extend(matrix[top, left : right + 1])
        out.extend(matrix[top + 1 : bottom + 1, right])
        if top < bottom:
            out.extend(matrix[bottom, left:right][::-1])
        if left < right:
            out.extend(matrix[top + 1 : bottom, left][::-1])
        top, bottom, left, right = top + 1, bottom - 1, left + 1, right - 1
    return np.array(out)


@program(lambda rng: (7,), lambda found, n: np.all(found.sum(axis=0) == n * (n * n + 1) // 2))
def magic_square(n):
    if n % 2 == 0:
        raise ValueError("n must be odd")
    square = np.zeros((n, n), dtype=int)
    i, j = 0, n // 2
    for number in range(1, n * n + 1):
        square[i, j] = number
        up, right = (i - 1) % n, (j + 1) % n
        if square[up, right]:
            i = (i + 1) % n
        else:
            i, j = up, right
    return square


@program(lambda rng: (rng.choice([0, 0, 2, 2, 4, 8], (4, 4)),), lambda found, board: found[0].sum() == board.sum())
def slide_and_merge(board):
    """The move to the left in the game 2048, and what it scores."""
    result = np.zeros_like(board)
    score = 0
    for r in range(4):
        tiles = board[r][board[r] != 0]
        k = place = 0
        while k < len(tiles):
            if k + 1 < len(tiles) and tiles[k] == tiles[k + 1]:
                result[r, place] = 2 * tiles[k]
                score += 2 * tiles[k]
                k += 2
            else:
                result[r, place] = tiles[k]
                k += 1
            place += 1
    return result, score


@program(lambda rng: (rng.uniform(size=(9, 9)) < 0.15,), lambda found, mines: np.all((found == -1) == mines))
def count_mines(mines):
    rows, columns = mines.shape
    counts = np.zeros(mines.shape, dtype=np.int8)
    for i in range(rows):
        for j in range(columns):
            if mines[i, j]:
                counts[i, j] = -1
            else:
                counts[i, j] = mines[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2].sum()
    print("\n".join("".join("*" if c < 0 else str(c) for c in row) for row in counts))
    return counts


@program(lambda rng: (6,), lambda found, disks: found[0] == 2**disks - 1 and found[1] == [[], [], list(range(disks, 0, -1))])
def towers_of_hanoi(disks):
    towers = [list(range(disks, 0, -1)), [], []]
    moves = 0

    def move(count, source, target, spare):
        nonlocal moves
        if count == 0:
            return
        move(count - 1, source, spare, target)
        towers[target].append(towers[source].pop())
        moves += 1
        move(count - 1, spare, target, source)

    move(disks, 0, 2, 1)
    return moves, towers


def tic_tac_toe(rng):
    board = np.zeros(9, dtype=int)
    board[rng.permutation(9)[:4]] = 1, -1, 1, -1
    return (board.reshape(3, 3),)


def winner(board):
    for line in (*board, *board.T, board.diagonal(), np.fliplr(board).diagonal()):
        if abs(line.sum()) == 3:
            return int(line[0])
    return 0


@program(tic_tac_toe, lambda found, board: found[0] in (-1, 0, 1))
def best_move(board):
    """All games from here are played to their ends."""

    def value(player):
        won = winner(board)
        if won or not (board == 0).any():
            return won
        outcomes = []
        for place in range(9):
            if board.flat[place] == 0:
                board.flat[place] = player
                outcomes.append(value(-player))
                board.flat[place] = 0
        return max(outcomes) if player == 1 else min(outcomes)

    best, where = -2, None
    for place in range(9):
        if board.flat[place] == 0:
            board.flat[place] = 1
            outcome = value(-1)
            board.flat[place] = 0
            if outcome > best:
                best, where = outcome, place
    return best, where

"""For CPython, standard library only: dictionaries, classes, generators, regular expressions, JSON, hashing.

Usage: input.py [ROUNDS]
"""

import collections
import hashlib
import heapq
import itertools
import json
import re
import sys
from dataclasses import asdict, dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Edge:
    source: int
    target: int
    weight: int


class Random:
    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, limit: int) -> int:
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 8) % limit


def random_graph(random: Random, nodes: int, edges: int) -> list[Edge]:
    return [Edge(random.below(nodes), random.below(nodes), 1 + random.below(100)) for _ in range(edges)]


def shortest_paths(edges: list[Edge], start: int) -> dict[int, int]:
    outgoing = collections.defaultdict(list)
    for edge in edges:
        outgoing[edge.source].append(edge)
    distance: dict[int, int] = {}
    queue = [(0, start)]
    while queue:
        so_far, node = heapq.heappop(queue)
        if node in distance:
            continue
        distance[node] = so_far
        for edge in outgoing[node]:
            heapq.heappush(queue, (so_far + edge.weight, edge.target))
    return distance


def tokens(text: str):
    for match in re.finditer(r"(?P<number>\d+)|(?P<operator>[-+*/()])|\s+", text):
        if match.lastgroup:
            yield match.lastgroup, match.group()


def evaluate(text: str) -> Fraction:
    stream = itertools.chain(tokens(text), [("end", "")])
    kind, token = next(stream)

    def advance() -> None:
        nonlocal kind, token
        kind, token = next(stream)

    def factor() -> Fraction:
        if token == "(":
            advance()
            value = expression()
        else:
            value = Fraction(int(token))
        advance()
        return value

    def term() -> Fraction:
        value = factor()
        while token in ("*", "/"):
            operator = token
            advance()
            value = value * factor() if operator == "*" else value / factor()
        return value

    def expression() -> Fraction:
        value = term()
        while token in ("+", "-"):
            operator = token
            advance()
            value = value + term() if operator == "+" else value - term()
        return value

    return expression()


def main(rounds: int) -> None:
    random = Random(42)
    digest = hashlib.sha256()
    for _ in range(rounds):
        edges = random_graph(random, 100, 600)
        distance = shortest_paths(edges, edges[0].source)
        text = json.dumps([asdict(edge) for edge in edges], sort_keys=True)
        assert [Edge(**fields) for fields in json.loads(text)] == edges
        value = evaluate(f"({len(distance)} + 3) * 7 / (2 - {random.below(9) + 3}) - 10 / 4")
        digest.update(text.encode())
        digest.update(str(value).encode())
    print(f"{rounds} rounds, farthest {max(distance.values())}, value {value}, digest {digest.hexdigest()[:16]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)

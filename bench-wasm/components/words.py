"""What `vm/tests/components/real.rs` calls in a component that componentize-py makes of this file."""

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.words import Marks, Order, Word


class Words(exports.Words):
    def count(self, text, order):
        counts = {}
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1
        key = (lambda p: p[0]) if order == Order.BY_TEXT else (lambda p: (-p[1], p[0]))
        return [Word(word, count) for word, count in sorted(counts.items(), key=key)]

    def divide(self, a, b):
        try:
            return a // b
        except ZeroDivisionError as error:
            raise Err(str(error))

    def sum(self, all):
        return sum(all), max(all, default=None)

    def change(self, text, marks):
        text = text.upper() if Marks.UPPER in marks else text
        return text[::-1] if Marks.REVERSED in marks else text

"""Adds up the apples of all trees."""


def total(trees):
    # TODO: trees without apples
    return sum(trees.values())


def best(trees):
    return max(trees, key=trees.get)

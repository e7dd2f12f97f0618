"""The trees and their apples."""

TREES = {"old oak gate": 0, "by the well": 41, "north wall": 17}

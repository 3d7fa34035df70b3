"""Plots for a page: curves in an SVG that stretches with its frame, labels as text of the page beside
it, so that they stay readable at any width. Colours come from the page's style sheet."""

import math
from html import escape


class Plot:
    """A frame over x = (low, high) and y = (low, high), to which marks and ticks are added."""

    def __init__(self, label, x, y, x_title, y_title):
        self.label, self.x, self.y = label, x, y
        self.x_title, self.y_title = x_title, y_title
        self.marks, self.ticks = [], []

    def at(self, x, y):
        """A point in units of the SVG: 100 by 100, from the upper left corner."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return 100 * across, 100 * (1 - up)

    def line(self, points, style):
        path = "L".join("{:.2f} {:.2f}".format(*self.at(*point)) for point in points)
        self.marks.append(f'<path class="{style}" d="M{path}"/>')

    def dot(self, point, size, told):
        """A line of no length with round ends: a circle, however the picture is stretched."""
        x, y = self.at(*point)
        self.marks.append(f'<path class="dot" stroke-width="{size:.1f}" d="M{x:.2f} {y:.2f}h0">'
                          f"<title>{escape(told)}</title></path>")

    def bar(self, low, high, height, told):
        left, top = self.at(low, height)
        right, bottom = self.at(high, self.y[0])
        self.marks.append(f'<path class="bar" d="M{left:.2f} {bottom:.2f}V{top:.2f}H{right:.2f}V{bottom:.2f}">'
                          f"<title>{escape(told)}</title></path>")

    def tick_x(self, x, text):
        across, _ = self.at(x, self.y[0])
        self.ticks.append(f'<span class="tick-x" style="left:{across:.2f}%">{escape(text)}</span>')

    def tick_y(self, y, text):
        _, down = self.at(self.x[0], y)
        self.ticks.append(f'<span class="tick-y" style="top:{down:.2f}%">{escape(text)}</span>')
        self.marks.append(f'<path class="rule" d="M0 {down:.2f}H100"/>')

    def html(self, style):
        return (f'<div class="{style}" role="img" aria-label="{escape(self.label)}">'
                f'<svg viewBox="0 0 100 100" preserveAspectRatio="none">{"".join(self.marks)}</svg>'
                f'{"".join(self.ticks)}<span class="title-x">{escape(self.x_title)}</span>'
                f'<span class="title-y">{escape(self.y_title)}</span></div>')


def round_numbers(low, high, most=6):
    """The numbers from low to high in steps of 1, 2 or 5 times a power of ten, at most so many and one."""
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= least)
    return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]

"""Line charts as SVG, drawn by hand: a few kilobytes each, the same bytes for the same numbers."""

from dataclasses import dataclass, field

import numpy as np

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 170, 58, 12, 24, 30
GAP = 8
COLOURS = ("#1b5e9e", "#c2410c", "#15803d", "#7e22ce", "#6b7280")
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1f2937}.grid{stroke:#e5e7eb}.axis{stroke:#6b7280}.bold{font-weight:600}"
)


@dataclass
class Panel:
    """One chart: lines by name, each an array of x and one of y."""

    title: str
    lines: dict[str, tuple[np.ndarray, np.ndarray]]
    x_label: str = ""
    shaded: tuple[float, float] | None = None
    """From one x to another."""
    low: float | None = None
    colours: dict[str, str] = field(default_factory=dict)


def chart(panels, description):
    """Panels one below the other, as a document."""
    tall = len(panels) * (HEIGHT + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" role="img" aria-label="{description}">',
        f'<style>{STYLE}</style><rect width="{WIDTH}" height="{tall}" fill="#fff"/>',
    ]
    for at, panel in enumerate(panels):
        parts += [f'<g transform="translate(0 {at * (HEIGHT + GAP)})">', *_panel(panel), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel):
    xs, ys = (np.concatenate([line[axis] for line in panel.lines.values()]) for axis in (0, 1))
    x_ticks = _ticks(float(xs.min()), float(xs.max()))
    y_ticks = _ticks(float(ys.min()) if panel.low is None else panel.low, float(ys.max()))
    x_span = float(xs.min()), float(xs.max())
    y_span = min(y_ticks[0], float(ys.min())), max(y_ticks[-1], float(ys.max()))

    def place(x, y):
        across = LEFT + (x - x_span[0]) / (x_span[1] - x_span[0]) * (WIDTH - LEFT - RIGHT)
        return across, HEIGHT - BOTTOM - (y - y_span[0]) / (y_span[1] - y_span[0]) * (HEIGHT - TOP - BOTTOM)

    yield f'<text class="bold" x="{LEFT}" y="14">{panel.title}</text>'
    if panel.shaded:
        (begin, _), (end, _) = (place(max(min(x, x_span[1]), x_span[0]), 0) for x in panel.shaded)
        size = f'width="{end - begin:.1f}" height="{HEIGHT - TOP - BOTTOM}"'
        yield f'<rect x="{begin:.1f}" y="{TOP}" {size} fill="#fef3c7"/>'
    for tick in y_ticks:
        _, y = place(0, tick)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'
    for tick in x_ticks:
        if x_span[0] <= tick <= x_span[1]:
            x, _ = place(tick, 0)
            yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{tick:g}</text>'
    floor = HEIGHT - BOTTOM
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>'
    yield f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 3}" text-anchor="end">{panel.x_label}</text>'
    right = WIDTH - RIGHT
    for at, (name, (x, y)) in reversed(list(enumerate(panel.lines.items()))):
        colour = panel.colours.get(name, COLOURS[at % len(COLOURS)])
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(*place(x, y), strict=True))
        yield f'<polyline fill="none" stroke="{colour}" stroke-width="1.4" points="{points}"/>'
        yield f'<text x="{right}" y="14" text-anchor="end" style="fill:{colour}">{name}</text>'
        right -= 7 * len(name) + 18


def _ticks(low, high, most=5):
    """Round numbers that cover a span."""
    rough = max(high - low, 1e-9) / most
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= rough)
    return [float(step * each) for each in range(int(np.floor(low / step)), int(np.ceil(high / step)) + 1)]

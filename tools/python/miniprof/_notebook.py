"""What a notebook shows of a report. Every text of a trace is escaped: it comes from the program
that was recorded.
"""
from typing import Any

from ._shown import markup

MAX_BARS = 300
HEIGHT = 60


class Report(dict):
    """The document of `miniprof report --json` (docs/report.md)."""

    def _repr_html_(self) -> str:
        first, *rest = self.get("answer") or ["no iterations"]
        parts = [f"<p><b>{markup(first)}</b></p>"]
        parts += [f"<p>{markup(line)}</p>" for line in rest]
        findings = self.get("findings") or []
        parts += [f"<p>{number}. <b>{markup(one['title'])}</b>: "
                  f"{markup(one['evidence'])}.<br>{markup(one['to_do'])}</p>"
                  for number, one in enumerate(findings, 1)]
        hot = self.get("hot") or []
        if hot:
            rows = "".join(f"<tr><td>{one['percent']:.1f} %</td><td>{one['calls']}</td>"
                           f"<td>{markup(one['name'])}</td></tr>" for one in hot)
            parts.append(f"<table><tr><th>GPU time</th><th>Calls</th><th>Name</th></tr>"
                         f"{rows}</table>")
        return "".join(parts)


def bars(title: str, values: Any) -> str:
    """A bar for each value; of more than 300, the greatest of each group."""
    if len(values) == 0:
        return ""
    group = -(-len(values) // MAX_BARS)
    tops = [float(max(values[i:i + group])) for i in range(0, len(values), group)]
    greatest = max(tops) or 1
    shapes = "".join(f'<rect x="{3 * i}" y="{HEIGHT * (1 - top / greatest):.1f}" width="2" '
                     f'height="{HEIGHT * top / greatest:.1f}"/>' for i, top in enumerate(tops))
    text = markup(f"{title}, at most {greatest / 1e3:,.1f} us")
    return (f'<p>{text}</p><svg width="{3 * len(tops)}" height="{HEIGHT}" role="img" '
            f'aria-label="{text}">{shapes}</svg>')

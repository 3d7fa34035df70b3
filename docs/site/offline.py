"""Sphinx extension: fails the build if a page loads a script, style or image from the network."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.errors import ExtensionError

REMOTE = re.compile(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"')


def check(app, exception):
    if exception or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        if found := REMOTE.search(page.read_text("utf-8")):
            raise ExtensionError(f"{page}: loads from the network: {found[0]}")


def setup(app):
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

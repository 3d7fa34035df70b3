"""Pages in a headless browser."""

import html
import json
import re
import shutil
import subprocess

CHROMIUM = shutil.which("chromium")

# A browser's window has a least width, a frame has none. The page around it holds, once all is loaded,
# the DOM of the page within and what the page and the gallery's frame need of the width they have.
AROUND = """<body><iframe style="width: {width}px; height: 900px; border: 0" srcdoc="{page}"></iframe>
<script>addEventListener("load", () => {{
  const page = document.querySelector("iframe").contentDocument, frame = page.querySelector("iframe");
  const pages = frame ? [page, frame.contentDocument] : [page];
  const widths = pages.map(({{documentElement: d}}) => [d.scrollWidth, d.clientWidth]);
  const hidden = frame ? frame.contentDocument.documentElement.scrollHeight - frame.clientHeight : 0;
  document.body.dataset.seen = JSON.stringify({{widths, hidden, dom: page.documentElement.outerHTML}});
}});</script></body>"""


def browse(page, width, folder):
    """What a browser makes of a page: `widths`, rows of the gallery that are `hidden`, `dom`, `console`."""
    path = folder / "around.html"
    path.write_text(AROUND.format(width=width, page=html.escape(page)))
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
               f"--user-data-dir={folder / 'browser'}", "--window-size=1400,1000",
               "--virtual-time-budget=3000", "--dump-dom", path.as_uri()]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    seen = json.loads(html.unescape(re.search('data-seen="([^"]*)"', done.stdout)[1]))
    return seen | {"console": [line for line in done.stderr.splitlines() if "CONSOLE" in line]}

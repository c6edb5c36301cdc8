"""The documentation as a site: it is built without a warning, its links lead somewhere, and a browser shows it."""

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
WIDTHS = {"phone": 390, "desktop": 1280}
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
ALONE = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-component-update --disable-background-networking "
    "--disable-sync --virtual-time-budget=600000"
)

# Loads each page in frames of the widths, and writes down whether one of them has to be moved sideways to be read.
LOOK = """<!doctype html><html><head><link rel="icon" href="data:,"></head><body><script>
const report = [];
async function look() {
  for (const page of PAGES)
    for (const [name, width] of Object.entries(WIDTHS)) {
      const frame = document.createElement("iframe");
      frame.style.cssText = `border:0;width:${width}px;height:900px`;
      frame.src = page;
      document.body.append(frame);
      await new Promise((done) => (frame.onload = done));
      const root = frame.contentDocument.documentElement;
      report.push([page, name, root.scrollWidth - width, frame.contentDocument.querySelectorAll("h1").length]);
      frame.remove();
    }
  document.body.innerHTML = "<pre>" + JSON.stringify(report) + "</pre>";
}
addEventListener("load", look);
</script></body></html>"""


class Page(HTMLParser):
    """What a page refers to, and the anchors that it has."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(attributes[key] for key in ("id", "name") if attributes.get(key))
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif "src" in attributes or (tag == "link" and attributes.get("rel") != "canonical"):
            self.loaded.append(attributes.get("src") or attributes["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_nb")
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    command = "-m sphinx -q -W -E -c docs/site .".split()
    command = [sys.executable, *command, "-d", folder / "doctrees", folder / "html"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def test_every_page_of_the_repository_is_in_it(site):
    patterns = ("docs/*.md", "docs/operations/*.md", "docs/gallery/*.*", "notebooks/*.ipynb")
    sources = [path for pattern in patterns for path in ROOT.glob(pattern)]
    missing = [one for one in sources if not (site / one.relative_to(ROOT)).with_suffix(".html").exists()]
    assert missing == [ROOT / "docs" / "README.md"]


def test_links_lead_somewhere(site):
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            if re.match(r"(https?:|mailto:|data:)", link):
                continue
            target, anchor = urldefrag(unquote(link))
            there = (path.parent / target.split("?")[0]).resolve() if target else path
            if not there.exists() or (anchor and there in pages and anchor not in pages[there].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site):
    elsewhere = {link for path in site.rglob("*.html") for link in Page(path).loaded if re.match(r"(https?:)?//", link)}
    assert not elsewhere


@pytest.mark.skipif(BROWSER is None, reason="no browser")
def test_a_browser_shows_each_page_at_both_widths(site, tmp_path):
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html") if path.parent != site)
    (site / "look.html").write_text(LOOK.replace("PAGES", json.dumps(pages), 1).replace("WIDTHS", json.dumps(WIDTHS), 1))
    handler = functools.partial(QuietHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        look = f"http://127.0.0.1:{server.server_port}/look.html"
        command = [BROWSER, *ALONE.split(), f"--user-data-dir={tmp_path}", "--enable-logging=stderr", "--dump-dom", look]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        server.shutdown()
    (site / "look.html").unlink()
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    report = json.loads(re.search(r"<pre>(.*)</pre>", done.stdout).group(1))
    assert {(page, width) for page, width, _, _ in report} == {(page, width) for page in pages for width in WIDTHS}
    assert not [row for row in report if row[2] > 0 or row[3] == 0]


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

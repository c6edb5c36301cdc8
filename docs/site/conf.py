"""The documentation as a site: `python -m sphinx -W -c docs/site . build/site`.

The pages are the Markdown files and notebooks of the repository as they are; `index.md` beside this file puts them in order.
"""

import importlib.metadata
import re

from docutils import nodes
from pygments import token
from pygments.lexer import RegexLexer
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

project = "phlox"
author = "the phlox authors"
copyright = author
release = importlib.metadata.version("phlox")

root_doc = "docs/site/index"
include_patterns = ["docs/**", "notebooks/*.ipynb", "CONTRIBUTING.md", "CHANGELOG.md"]
# The list of pages for those who read the files; the site's own is index.md.
exclude_patterns = ["docs/README.md", "**/.ipynb_checkpoints"]

extensions = ["myst_nb"]
nitpicky = True
myst_heading_anchors = 4

# Notebooks hold their outputs; the tests execute them.
nb_execution_mode = "off"
nb_merge_streams = True
# Output of widgets would load scripts from elsewhere; there are none.
nb_ipywidgets_js = {}

html_theme = "furo"
html_title = "phlox"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["phlox.css"]
templates_path = ["templates"]
html_additional_pages = {"index": "first_page.html"}


class NamedCells(SphinxTransform):
    """Operations in tables have no headings: `<a id="abs"></a>` is what `[abs](#abs)` refers to, as on GitHub."""

    default_priority = 700

    def apply(self, **_) -> None:
        for slugs in (self.document.myst_slugs, self.env.metadata[self.env.docname].setdefault("myst_slugs", {})):
            for raw in self.document.findall(nodes.raw):
                for name in re.findall(r'<a id="([^"]+)">', raw.astext()):
                    slugs[name] = (raw.line, name, name)


class HloLexer(RegexLexer):
    """The text of HLO modules, as far as colours need it."""

    name = "HLO"
    aliases = ["hlo"]
    tokens = {
        "root": [
            (r"//.*?$|/\*.*?\*/", token.Comment),
            (r'"[^"]*"', token.String),
            (r"%[\w.-]+", token.Name.Variable),
            (r"\b(HloModule|ENTRY|ROOT)\b", token.Keyword),
            (r"\b(pred|token|bf16|c64|c128|[su]\d+|f\d+\w*)\[[^]]*\](\{[\d,]*\})?", token.Keyword.Type),
            (r"-?\b\d+(\.\d+)?(e[-+]?\d+)?\b", token.Number),
            (r"[a-z][\w-]*(?=\()", token.Name.Function),
            (r"[A-Za-z_][\w.-]*", token.Name),
            (r"\s+", token.Whitespace),
            (r".", token.Punctuation),
        ]
    }


def hold_operations(app: Sphinx, page: str, source: list[str]) -> None:
    """The pages of operations stand below their table in the navigation."""
    if page == "docs/operations/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", hold_operations)
    app.add_lexer("hlo", HloLexer)
    app.add_transform(NamedCells)

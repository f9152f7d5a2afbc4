"""Settings of the documentation site (Sphinx): pages are Markdown, the reference comes from the docstrings."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from docutils import nodes  # noqa: E402
from sphinx import addnodes  # noqa: E402

from docs import make_reference  # noqa: E402

project = "bayesmrf"
author = copyright = "The bayesmrf developers"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx_copybutton"]
# Pages link to files outside docs/, such as the benchmarks: so the root of the repository is the folder of sources.
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "docs/**.rst",
    "*.md",
    "benchmarks/README.md",
    "papers/README.md",
    "reference/README.md",
    "papers/*/README.md",
]
exclude_patterns = ["README.md", "build", ".[a-z]*", "src", "tests", "findings"]
suppress_warnings = ["ref.python"]  # words of docstrings that several classes have

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = "bayesmrf"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp, .go"


def begin_at_the_index(app, error):
    """Let the folder of the site begin at the first page."""
    if error is None and app.builder.format == "html":
        text = '<!doctype html><html lang="en"><title>bayesmrf</title><meta http-equiv="refresh" content="0; url={0}">'
        text += '<a href="{0}">bayesmrf</a></html>\n'
        (Path(app.outdir) / "index.html").write_text(text.format(f"{root_doc}.html"), encoding="utf-8")


def finish_page(app, pagename, templatename, context, doctree):
    """Let screen readers know the level of captions, and keyboards scroll wide blocks of code and tables."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    body = context.get("body", "").replace("<pre>", '<pre tabindex="0">')
    context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')


def link_names(app, doctree):
    """Link the first mention of each public name on a page to the reference."""
    left = {*make_reference.ESTIMATORS, *make_reference.FUNCTIONS}
    for code in list(doctree.findall(nodes.literal)):
        name = code.astext()
        if name in left and not isinstance(code.parent, nodes.reference | nodes.title | addnodes.pending_xref):
            left.remove(name)
            link = {"refdomain": "py", "reftype": "obj", "reftarget": f"bayesmrf.{name}", "refdoc": app.env.docname}
            code.replace_self(addnodes.pending_xref("", code.deepcopy(), refwarn=True, refexplicit=True, **link))


def setup(app):
    """Make the pages of the reference before Sphinx looks for pages."""
    app.connect("config-inited", lambda *_: make_reference.write())
    app.connect("doctree-read", link_names)
    app.connect("html-page-context", finish_page, priority=900)  # after the theme
    app.connect("build-finished", begin_at_the_index)

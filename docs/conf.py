"""Settings of the documentation site. `make docs` builds it into build/docs."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "site"))

project = "Causeway"
author = "the Causeway authors"
release = re.search(r"project\(causeway VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_nb", "sphinx.ext.autodoc", "breathe", "generated", "docstrings", "offline"]
exclude_patterns = ["site"]

myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 4

# Tutorials are executed at every build; a cell that raises an error fails it.
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_ipywidgets_js = {}  # no scripts from the network

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = ["dask", "distributed", "ray", "torch"]

breathe_projects = {"causeway": str(ROOT / "build" / "doxygen" / "xml")}
breathe_default_project = "causeway"
breathe_show_include = False
suppress_warnings = ["duplicate_declaration.cpp"]  # headers share namespaces

html_theme = "furo"
html_title = f"Causeway {release}"
html_static_path = ["site/static"]
html_css_files = ["causeway.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
smartquotes = False  # --option stays as it is
highlight_language = "none"
pygments_style = "friendly"
pygments_dark_style = "github-dark"

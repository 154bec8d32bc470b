"""How the documentation site is built: `make site`. Nothing in it is loaded from elsewhere."""

project = "shuffledp"
author = "the shuffledp authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click", "sphinx_copybutton"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "deploy", "static"]
html_theme = "furo"
html_title = "shuffledp"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"
copybutton_prompt_text = "$ "
nitpicky = False

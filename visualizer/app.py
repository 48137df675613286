"""Entry point of the app: the list of its pages.

streamlit run visualizer/app.py [TRACE …] [-- --source DIR --source-map BUILT=HERE --compare B --allow-truncated
    --scheduler ADDRESS]
"""

import gc
import sys
from pathlib import Path

import streamlit as st

# Also in a checkout that is not installed, where only this file's folder would be searched.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from snoopie.trace import text_columns
from visualizer import pages
from visualizer.components import history
from visualizer.controls import filters
from visualizer.look import preload, theme
from visualizer.session import address, again, state
from visualizer.views import objects, open_trace


@st.cache_resource(show_spinner=False)
def _spare_what_stays() -> None:
    """Once a server. Streamlit collects garbage after each run, before it tells the browser that the run is over: 0.1 s
    and more through all that the imports made, which never is garbage."""
    gc.freeze()


_spare_what_stays()
text_columns.by_reference()
# The icon is a file of ours: Streamlit's own, as an icon of a page, come from their maker's server.
st.set_page_config(
    page_title="Snoopie",
    page_icon=Path(__file__).parent / "look" / "icon.svg",
    layout="wide",
    initial_sidebar_state="expanded",
)
theme.use()

again.begin()
history.watch(address.arrive)
if state.is_open():
    page = st.navigation(pages.of_trace(), expanded=True)
    address.begin(page.title)
    filters.sidebar()
else:
    page = st.navigation([st.Page(open_trace.show, title="Open a trace", icon=":material/folder_open:", default=True)])
    address.begin(page.title)
page.run()
preload.preload()
state.read_ahead()
objects.ahead()

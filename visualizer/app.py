"""Entry point of the app: the list of its pages.

streamlit run visualizer/app.py [TRACE …] [-- --source DIR --allow-truncated --scheduler ADDRESS]
"""

import gc
import sys
from pathlib import Path

import streamlit as st

# Also in a checkout that is not installed, where only this file's folder would be searched.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from visualizer import heatmap, state
from visualizer.views import collectives, copies, graph, kernels, matrix, open_trace, overview, sites, source


@st.cache_resource(show_spinner=False)
def _spare_what_stays() -> None:
    """Once a server. Streamlit collects garbage after each run, before it tells the browser that the run is over: 0.1 s
    and more through all that the imports made, which never is garbage."""
    gc.freeze()


_spare_what_stays()
st.set_page_config(page_title="Snoopie", page_icon=":material/hub:", layout="wide")

if state.is_open():
    page = st.navigation(
        [
            st.Page(overview.show, title="Overview", icon=":material/summarize:", url_path="overview", default=True),
            st.Page(graph.show, title="Graph", icon=":material/hub:", url_path="graph"),
            st.Page(matrix.show, title="Matrix", icon=":material/grid_on:", url_path="matrix"),
            st.Page(copies.show, title="Copies", icon=":material/swap_horiz:", url_path="copies"),
            st.Page(collectives.show, title="Collectives", icon=":material/groups:", url_path="collectives"),
            st.Page(kernels.show, title="Kernels", icon=":material/memory:", url_path="kernels"),
            st.Page(sites.show, title="Sites", icon=":material/pin_drop:", url_path="sites"),
            st.Page(source.show, title="Source", icon=":material/code:", url_path="source"),
        ]
    )
    state.sidebar()
else:
    page = st.navigation([st.Page(open_trace.show, title="Open a trace", icon=":material/folder_open:", default=True)])
page.run()
heatmap.load_plotly()
state.read_ahead()

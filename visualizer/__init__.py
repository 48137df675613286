"""The app. `snoopie view TRACE`, or `streamlit run visualizer/app.py TRACE`."""

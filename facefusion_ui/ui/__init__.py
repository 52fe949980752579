"""The Gradio page."""

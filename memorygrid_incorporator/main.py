"""The Incorporator's app: `uvicorn memorygrid_incorporator.main:app --port 8001`."""

from entrypoints.apps import incorporator_app
from entrypoints.serving import app_or_exit

app = app_or_exit(incorporator_app)

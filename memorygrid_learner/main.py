"""The Learner's app: `uvicorn memorygrid_learner.main:app --port 8000`."""

from entrypoints.apps import learner_app
from entrypoints.serving import app_or_exit

app = app_or_exit(learner_app)

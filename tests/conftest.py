import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("ci", derandomize=True)  # the same examples each time; new ones are for people to find
if os.environ.get("CI"):
    settings.load_profile("ci")

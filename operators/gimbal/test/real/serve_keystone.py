# Serves the real Keystone on one port. Arguments: its configuration file, the port.
import os
import sys

configuration, port = sys.argv[1], int(sys.argv[2])
os.environ["OS_KEYSTONE_CONFIG_FILES"] = configuration
sys.argv = ["keystone"]

import waitress
from keystone.server.wsgi import initialize_public_application

# One thread: with more, writes to SQLite fail now and then because the database is locked.
waitress.serve(initialize_public_application(), host="127.0.0.1", port=port, threads=1)

# Stands in for Octavia's worker, which would build virtual machines: whatever is pending is done. Argument: the database.
import sqlite3
import sys
import time

database = sqlite3.connect(sys.argv[1], timeout=10)
while True:
    try:
        for table in ("member", "pool", "listener"):
            database.execute(f"delete from {table} where provisioning_status = 'PENDING_DELETE'")
        database.execute("update load_balancer set provisioning_status = 'DELETED' where provisioning_status = 'PENDING_DELETE'")
        for table in ("member", "pool", "listener", "load_balancer"):
            database.execute(f"update {table} set provisioning_status = 'ACTIVE' where provisioning_status like 'PENDING_%'")
        database.execute("update load_balancer set operating_status = 'ONLINE' where provisioning_status = 'ACTIVE'")
        database.commit()
    except sqlite3.OperationalError:
        database.rollback()
    time.sleep(0.1)

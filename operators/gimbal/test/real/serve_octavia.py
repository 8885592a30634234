# Serves the real Octavia API on one port, or makes its database. Arguments: its configuration file, the port or "init".
import sys

configuration, what = sys.argv[1], sys.argv[2]

if what == "init":
    from octavia.common import config, constants

    config.init(["--config-file", configuration])
    from octavia.db import api, base_models, models

    # Octavia's own migrations do not run on SQLite: the tables are made as they are in the end, with what they look up.
    base_models.BASE.metadata.create_all(api.get_engine())
    session = api.get_session()
    tables = [
        (constants.SUPPORTED_PROVISIONING_STATUSES, models.ProvisioningStatus),
        (constants.SUPPORTED_HEALTH_MONITOR_TYPES, models.HealthMonitorType),
        (constants.SUPPORTED_LB_ALGORITHMS, models.Algorithm),
        (constants.SUPPORTED_PROTOCOLS, models.Protocol),
        (constants.SUPPORTED_OPERATING_STATUSES, models.OperatingStatus),
        (constants.SUPPORTED_SP_TYPES, models.SessionPersistenceType),
        (constants.SUPPORTED_AMPHORA_ROLES, models.AmphoraRoles),
        (constants.SUPPORTED_LB_TOPOLOGIES, models.LBTopology),
        (constants.SUPPORTED_VRRP_AUTH, models.VRRPAuthMethod),
        (constants.SUPPORTED_L7RULE_TYPES, models.L7RuleType),
        (constants.SUPPORTED_L7RULE_COMPARE_TYPES, models.L7RuleCompareType),
        (constants.SUPPORTED_L7POLICY_ACTIONS, models.L7PolicyAction),
        (constants.SUPPORTED_CLIENT_AUTH_MODES, models.ClientAuthenticationMode),
    ]
    for names, model in tables:
        for name in names:
            with session.begin():
                session.add(model(name=name))
else:
    import waitress
    from octavia.api import app

    application = app.setup_app(argv=["octavia-api", "--config-file", configuration])
    waitress.serve(application, host="127.0.0.1", port=int(what), threads=1)

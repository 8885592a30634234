// submariner gateway: runs the gateway of a cluster until it is stopped.
import { systemClock } from '@capstan/kube';
import { createLogger } from '@capstan/reconcile';
import { command } from '@capstan/reconcile/command-line';
import { readConfiguration } from '../gateway/configuration.ts';
import { cleanUpGateway, runGateway } from '../gateway/run-gateway.ts';
import { localPrograms } from '../local/index.ts';

export default command({
  usage: 'gateway [flags]',
  description:
    'Runs the gateway of a cluster: its cables, and the sync with its broker. It is configured by the environment (SUBMARINER_*, CE_IPSEC_*, BROKER_K8S_*), as a Submariner resource sets it, and by mounted files.',
  examples: ['submariner gateway', 'submariner gateway --cables simulated', 'submariner gateway --clean-up'],
  options: {
    cables: {
      type: 'string',
      oneOf: ['real', 'simulated'],
      help: 'real (default): links, tunnels and routes on this host. simulated: cables that exist in reports only.',
    },
    'network-namespace': {
      type: 'string',
      value: 'NAME',
      help: 'Work in this network namespace instead of the host’s own.',
    },
    'run-dir': { type: 'string', value: 'DIR', help: 'Sockets and logs of daemons; default /run/submariner.' },
    'state-dir': {
      type: 'string',
      value: 'DIR',
      help: 'What must survive a reboot: the list of networks that are never reached in clear; default --run-dir if given, else /var/lib/submariner.',
    },
    'clean-up': {
      type: 'boolean',
      help: 'Remove the cables, daemons and the backstop that a gateway left on this host, and end. A gateway that is stopped leaves them for the next one.',
    },
    'wireguard-device': { type: 'string', value: 'NAME', help: 'Name of the WireGuard interface; default submariner.' },
  },
  async run({ flags }, io) {
    const clock = io.clock ?? systemClock;
    const isPod = Boolean(io.env['KUBERNETES_SERVICE_HOST']);
    const networkNamespace = flags['network-namespace'] ?? io.env['SUBMARINER_NETWORK_NAMESPACE'];
    const runDir = flags['run-dir'] ?? io.env['SUBMARINER_RUN_DIR'];
    const wireguardDevice = flags['wireguard-device'] ?? io.env['SUBMARINER_WIREGUARD_DEVICE'];
    const stateDir = flags['state-dir'] ?? io.env['SUBMARINER_STATE_DIR'];
    const run = flags['clean-up'] === true ? cleanUpGateway : runGateway;
    await run({
      configuration: readConfiguration(io.env),
      env: io.env,
      clock,
      logger: createLogger({ clock, format: isPod ? 'json' : 'text', write: (line) => io.stderr(line) }),
      signal: io.signal,
      version: '0.1.0',
      isSimulated: (flags.cables ?? io.env['SUBMARINER_CABLES']) === 'simulated',
      programs: localPrograms(io.env),
      createsPodNetwork: io.env['SUBMARINER_NETWORK_NAMESPACE'] !== undefined,
      ...(networkNamespace !== undefined && { networkNamespace }),
      ...(runDir !== undefined && { runDir }),
      ...(stateDir !== undefined && { stateDir }),
      ...(wireguardDevice !== undefined && { wireguardDevice }),
    });
    return 0;
  },
});

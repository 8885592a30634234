import { systemClock } from '@capstan/kube';
import { createLogger, parseListenAddress, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { command, openCluster } from '@capstan/reconcile/command-line';
import { serveAdmission } from '../admission/serve-admission.ts';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { CLUSTER_OPTIONS } from '../cluster/open-cluster.ts';
import { listenAddress } from '../run/address-flag.ts';

export default command({
  usage: 'admission [flags]',
  description:
    'Runs the admission webhook, which refuses objects that an operator could only report as invalid. capstan install --admission\n' +
    'runs it in the cluster; its certificate is created and renewed by itself.',
  examples: ['capstan admission --address :8443'],
  options: {
    ...CLUSTER_OPTIONS,
    ...OPERATOR_OPTIONS,
    address: {
      type: 'string',
      value: 'HOST:PORT',
      default: ':8443',
      parse: listenAddress,
      help: 'Where it listens.',
    },
  },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const clock = io.clock ?? systemClock;
    const logger = createLogger({ clock, format: 'json', level: 'info', write: io.stderr });
    const operators = await requireOperators(args, io);
    const { client } = await openCluster(flags, io);
    const { host, port } = parseListenAddress(flags.address);
    try {
      await serveAdmission(
        {
          client,
          clock,
          random: Math.random,
          logger,
          checks: operators.flatMap(({ admission = [] }) => admission),
          namespace: flags.namespace ?? SYSTEM_NAMESPACE,
          host: io.env['CAPSTAN_BIND_ADDRESS'] ?? host ?? '0.0.0.0',
          port,
        },
        io.signal,
      );
    } finally {
      await client.close();
    }
    return 0;
  },
});

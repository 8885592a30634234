import { command, EVENT_OUTPUT } from '@capstan/reconcile/command-line';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { CLUSTER_OPTIONS } from '../cluster/open-cluster.ts';
import { runOperators } from '../run/run-operators.ts';
import { RUN_OPTIONS } from '../run/run-options.ts';

export default command({
  usage: 'run [--operator FILE] [flags]',
  description:
    'Runs operators in a cluster until it is stopped (SIGTERM or Ctrl-C), then ends in order: writes that are under way are\n' +
    'finished, the lease is given back. Logs go to stderr; with -o json each event (started, ready, stopped) is a line on stdout.\n' +
    'An operator takes its own flags with its name before a dot: --NAME.FLAG=VALUE; --operators NAME --help lists them.',
  examples: [
    'capstan run --operator ./my-operator.ts --install-crds',
    'capstan run --operator ./my-operator.ts --watch-namespaces team-a,team-b --leader-elect=false',
    'capstan run --operator ./my-operator.ts --health-address :8081 --metrics-address :8080 --log-format json',
  ],
  options: { ...RUN_OPTIONS, ...CLUSTER_OPTIONS, ...OPERATOR_OPTIONS, output: EVENT_OUTPUT },
  operatorFlags: true,
  run: async (args, io) => runOperators(await requireOperators(args, io), args.flags, io, args.operatorFlags),
});

import { systemClock } from '@capstan/kube';
import { createLogger } from '@capstan/reconcile';
import { command } from '../cli/command.ts';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { CLUSTER_OPTIONS } from '../cluster/open-cluster.ts';
import { runOperators } from '../run/run-operators.ts';
import { RUN_OPTIONS, runSettings } from '../run/run-options.ts';
import { REPORT_OUTPUT } from '../text/output.ts';

export default command({
  usage: 'run [--operator FILE] [flags]',
  description:
    'Runs operators in a cluster until it is stopped (SIGTERM or Ctrl-C), then ends in order: writes that are under way are\n' +
    'finished, the lease is given back. Logs go to stderr; with -o json each event (started, ready, stopped) is a line on stdout.\n' +
    'An operator takes its own flags with its name before a dot: --NAME.FLAG=VALUE.',
  examples: [
    'capstan run --operator ./my-operator.ts --install-crds',
    'capstan run --operator ./my-operator.ts --watch-namespaces team-a,team-b --leader-elect=false',
    'capstan run --operator ./my-operator.ts --health-address :8081 --metrics-address :8080 --log-format json',
  ],
  options: { ...RUN_OPTIONS, ...CLUSTER_OPTIONS, ...OPERATOR_OPTIONS, output: REPORT_OUTPUT },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const { clock = systemClock } = io;
    const settings = runSettings(flags, io);
    const operators = await requireOperators('run', args, io);
    const logger = createLogger({
      clock,
      format: settings.logFormat,
      level: settings.logLevel,
      write: (line) => io.stderr(line),
    });
    const announce = (event: string, fields: object) => {
      if (flags.output === 'json') io.stdout(`${JSON.stringify({ event, ...fields })}\n`);
      else logger.info(event, { ...fields });
    };
    await runOperators({ operators, settings, flags, io, clock, logger, announce });
    return 0;
  },
});

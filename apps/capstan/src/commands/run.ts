import { systemClock } from '@capstan/kube';
import { createLogger, createManager } from '@capstan/reconcile';
import { command } from '../cli/command.ts';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { CLUSTER_OPTIONS, connectTo, USER_AGENT } from '../cluster/open-cluster.ts';
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
    const { logFormat: _format, logLevel: _level, ...managed } = settings;
    const manager = createManager({
      ...managed,
      operators,
      connection: await connectTo(flags, io),
      ...(flags.namespace !== undefined && { namespace: flags.namespace }),
      clock,
      logger,
      env: io.env,
      identity: io.identity,
      userAgent: USER_AGENT,
      onEvent: ({ type, ...fields }) => announce(type, fields),
    });
    await manager.run(io.signal);
    return 0;
  },
});

import { systemClock } from '@capstan/kube';
import { createLogger } from '@capstan/reconcile';
import { command, REPORT_OUTPUT } from '@capstan/reconcile/command-line';
import { loadOperators, OPERATOR_OPTIONS } from '../cli/load-operators.ts';
import { findDemos } from '../up/demo.ts';
import { readyText } from '../up/ready-text.ts';
import { runUp } from '../up/run-up.ts';
import { UP_OPTIONS, upSettings } from '../up/up-options.ts';

export default command({
  usage: 'up [--demo] [--clusters LIST] [flags]',
  description:
    'Starts a whole cluster in this process (API server, controllers, a node, the operators) and runs it until it is stopped\n' +
    '(SIGTERM or Ctrl-C). It serves this machine; everything is kept in the data folder. Logs go to stderr; with -o json each\n' +
    'event (started, ready, stopped) is a line on stdout. An operator takes its own flags: --NAME.FLAG=VALUE.',
  examples: [
    'capstan up',
    'capstan up --demo --listen 127.0.0.1:0 --data /tmp/try-it',
    'capstan up --clusters broker,east,west -o json',
  ],
  options: { ...UP_OPTIONS, ...OPERATOR_OPTIONS, output: REPORT_OUTPUT },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const { clock = systemClock } = io;
    const settings = upSettings(flags, io);
    const operators = await loadOperators(args, io);
    const names = operators.map(({ name }) => name);
    const demos = settings.demo ? await findDemos(names, flags.operator ?? [], io) : [];
    const logger = createLogger({
      clock,
      format: settings.logFormat,
      level: settings.logLevel,
      write: (line) => io.stderr(line),
    });
    const announce = (event: string, fields: object) => {
      if (flags.output === 'json') io.stdout(`${JSON.stringify({ event, ...fields })}\n`);
      else if (event === 'ready') io.stdout(readyText(settings, fields, io));
      else logger.info(event, { ...fields });
    };
    await runUp({ settings, operators, demos, io, clock, random: Math.random, logger, announce });
    return 0;
  },
});

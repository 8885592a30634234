import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '@capstan/kube';
import { createLogger } from '@capstan/reconcile';
import { command, type Io } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import { loadOperators, OPERATOR_OPTIONS } from '../cli/load-operators.ts';
import { findDemos } from '../up/demo.ts';
import { REPORT_PHASES, reportToStarter, startDetached } from '../up/detach.ts';
import { createProgress, noProgress, type Progress } from '../up/progress.ts';
import { type ReadyFields, readyText } from '../up/ready-text.ts';
import { runUp } from '../up/run-up.ts';
import { runningProcess } from '../up/running-cluster.ts';
import { createStartLog } from '../up/start-log.ts';
import { UP_OPTIONS, type UpSettings, upSettings } from '../up/up-options.ts';

export default command({
  usage: 'up [--demo] [--detach] [--clusters LIST] [flags]',
  description:
    'Starts a whole cluster in this process (API server, controllers, a node, the operators) and runs it until it is stopped\n' +
    '(SIGTERM or Ctrl-C); with --detach in the background, until capstan down. It serves this machine; everything is kept in the\n' +
    'data folder, which capstan reset deletes. Logs go to stderr, after the start; with -o json each event (started, ready,\n' +
    'stopped) is a line on stdout. An operator takes its own flags: --NAME.FLAG=VALUE. With --demo, Envoy is fetched where it is not on\n' +
    'this machine: a terminal is asked first, and --fetch none leaves it out.',
  examples: [
    'capstan up',
    'capstan up --demo --detach --merge-kubeconfig',
    'capstan up --demo --listen 127.0.0.1:0 --data /tmp/try-it',
    'capstan up --clusters broker,east,west -o json',
  ],
  options: {
    ...UP_OPTIONS,
    ...OPERATOR_OPTIONS,
    output: { type: 'string', short: 'o', oneOf: ['text', 'json'], help: 'How to print it; default text.' },
  },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const { clock = systemClock } = io;
    const settings = upSettings(flags, io, homedir());
    const isText = flags.output !== 'json';
    if (flags.detach) {
      await envoyFor(settings, settings.demo && (flags.operators ?? ['sesame']).includes('sesame'), isText, clock, io);
      return detached(settings, !isText, io);
    }
    const operators = await loadOperators(args, io);
    const names = operators.map(({ name }) => name);
    const demos = settings.demo ? await findDemos(names, flags.operator ?? [], io) : [];
    await envoyFor(settings, demos.length > 0 && names.includes('sesame'), isText, clock, io);
    const log = createStartLog({
      // Who asks for a level wants to see the start.
      isHeld: isText && flags['log-level'] === undefined,
      isWarning: (line) => /^\S+ (?:WARN|ERROR) |"level":"(?:warn|error)"/.test(line),
      write: (line) => io.stderr(line),
    });
    const logger = createLogger({
      clock,
      format: settings.logFormat,
      level: settings.logLevel,
      write: (line) => log.write(line),
    });
    const announce = (event: string, fields: object) => {
      if (!isText) printEvent({ event, ...fields }, io);
      else if (event === 'ready') {
        const ready = fields as ReadyFields;
        io.stdout(readyText(ready, { settings, env: io.env, ...codeOf(ready) }));
        log.open();
      } else logger.info(event, { ...fields });
    };
    const progress = progressOf(isText, clock, io);
    try {
      await runUp({ settings, operators, demos, io, clock, random: Math.random, logger, announce, progress });
    } finally {
      log.open();
    }
    return 0;
  },
});

/** A process in the background has no person to ask: the command that starts it fetches Envoy beforehand. */
async function envoyFor(settings: UpSettings, isNeeded: boolean, isText: boolean, clock: Clock, io: Io): Promise<void> {
  if (io.env[REPORT_PHASES] !== undefined) return;
  const progress = progressOf(isText, clock, io);
  const report = (line: string) => io.stderr(`${line}\n`);
  const { fetchEnvoy } = await import('../up/fetch-envoy.ts');
  await fetchEnvoy({ choice: settings.fetch, isNeeded, io, progress, report });
}

function printEvent(event: object, io: Io): void {
  if (io.env[REPORT_PHASES] !== undefined) reportToStarter(event);
  else io.stdout(`${JSON.stringify(event)}\n`);
}

function progressOf(isText: boolean, clock: Clock, io: Io): Progress {
  if (isText) return createProgress(clock, (line) => io.stderr(line));
  // The command that started a background process prints its phases.
  if (io.env[REPORT_PHASES] === undefined) return noProgress;
  return createProgress(clock, (title) => printEvent({ event: 'phase', title }, io));
}

async function detached(settings: UpSettings, isJson: boolean, io: Io): Promise<number> {
  const { data } = settings;
  const running = runningProcess(data);
  if (running !== undefined) throw CliErrors.RunsAlready(running, data);
  const { clock = systemClock, cwd, env, signal } = io;
  const { argv, execPath, execArgv } = process;
  // The phases of the other process follow; the thread of main.ts repeats the last line in a silence.
  const onPhase = (line: string) => {
    if (!isJson) io.stderr(line);
  };
  onPhase(`Starting the cluster in the background (log: ${join(data, 'up.log')}) ...\n`);
  const { pid, log, ready } = await startDetached({ data, argv, execPath, execArgv, cwd, clock, signal, onPhase });
  io.stdout(
    isJson
      ? `${JSON.stringify({ event: 'ready', pid, log, ...ready })}\n`
      : readyText(ready, { settings, env, detached: { pid, log }, ...codeOf(ready) }),
  );
  return 0;
}

/** Returns the code of the console from its file: an event with it would end in a log. */
function codeOf({ consoleCodeFile }: ReadyFields): { consoleCode?: string } {
  return consoleCodeFile === undefined ? {} : { consoleCode: readFileSync(consoleCodeFile, 'utf8').trim() };
}

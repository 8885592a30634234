import { resolve } from 'node:path';
import { openRecording, type ReplayDifference, type ReplayReport, replayHistory } from '@capstan/reconcile';
import {
  type Command,
  command,
  type ForwardedCommand,
  nearest,
  parseCommandLine,
  UsageErrors,
} from '@capstan/reconcile/command-line';
import type { Io } from '../cli/io.ts';
import { OPERATOR_OPTIONS, type OperatorArgs } from '../cli/operator-options.ts';
import { ioAtMoment } from '../replay/at-moment.ts';
import { compareVersions } from '../replay/compare-versions.ts';
import { formatReplay } from '../replay/format-replay.ts';
import { beginOf, parseMoment, untilOf } from '../replay/moment.ts';
import { recordedOperators } from '../replay/recorded-operators.ts';
import { readKey } from '../run/recording.ts';

/** Commands that answer for a moment of a recording. */
const ANSWERING = ['why', 'status', 'plan', 'tree'];
/** Results differ. */
const DIFFERS = 3;

const definition = command({
  usage: 'replay FILE|FOLDER [--until MOMENT] [--step] [--at MOMENT COMMAND…] [--version-of PATH] [-o json]',
  description:
    'Runs the operators over a recording, on its own clock, and compares every plan with the recorded one: the same inputs give the\n' +
    'same plans, so it ends with 3 where one differs. Nothing is read or written outside. With --at, why, status, plan and tree answer\n' +
    'for that moment. A moment is the number of a wave or a time in UTC.',
  examples: [
    'capstan replay incident.capture',
    'capstan replay incident.capture --at 10:32:05 why deployment/my-proxy -n edge',
    'capstan replay incident.capture --version-of ../capstan-next',
  ],
  options: {
    until: { type: 'string', value: 'MOMENT', parse: parseMoment, help: 'Stop after this moment.' },
    step: { type: 'boolean', help: 'Print each wave with the results that changed.' },
    at: { type: 'string', value: 'MOMENT', parse: parseMoment, help: 'Run the command that follows for this moment.' },
    key: { type: 'string', value: 'FILE', help: 'The key, where the recording holds Secrets.' },
    'version-of': {
      type: 'string',
      value: 'PATH',
      help: 'Replay with another version too (a checkout or a package) and list the plans that differ.',
    },
    results: { type: 'boolean', help: 'Print every result with its digest as a line of JSON: for --version-of.' },
    'check-purity': { type: 'boolean', help: 'Run every function twice, to find those that are not pure.' },
    ...OPERATOR_OPTIONS,
    output: { type: 'string', short: 'o', oneOf: ['table', 'json'], default: 'table', help: 'How to print it.' },
  },
  operatorFlags: true,
  positionals: 1,
  run: (args, io) => run(args, [], io),
});

async function run(args: Parameters<Command['run']>[0], asked: readonly string[], io: Io): Promise<number> {
  const flags = args.flags as unknown as ReplayFlags;
  const [file] = args.positionals;
  if (file === undefined) throw UsageErrors.Missing(args.command, 'a recording', `${args.command} incident.capture`);
  if (flags.at !== undefined && asked.length === 0)
    throw UsageErrors.Missing(
      '--at',
      `a command (${ANSWERING.join(', ')})`,
      `${args.command} ${file} --at 10:32:05 status`,
    );
  const key = flags.key === undefined ? undefined : await readKey(flags.key, io.cwd);
  const recording = await openRecording(resolve(io.cwd, file), key);
  for (const note of recording.notes) io.stderr(`${note}\n`);
  const operators = await recordedOperators(args as unknown as OperatorArgs, recording.header, io);
  const from = beginOf(recording);
  const moment = flags.at ?? flags.until;
  const isJson = flags.output === 'json';
  const { replay, ...report } = replayHistory(recording, {
    operators,
    ...(moment && { until: untilOf(moment, from) }),
    ...(flags['check-purity'] && { checkPurity: true }),
    compares: flags.at === undefined,
    ...((flags.step || flags.results) && {
      onResult: (result) =>
        io.stdout(
          flags.results
            ? `${JSON.stringify({ ...result, value: undefined })}\n`
            : `wave ${result.wave}  ${new Date(result.at).toISOString()}  ${result.name} ${result.key}  ${result.digest}\n`,
        ),
    }),
  });
  if (flags.at !== undefined) {
    const then = ioAtMoment(recording, replay, io);
    const { runCapstanCommand } = await import('../cli.ts');
    const offline = asked[0] === 'plan' && !asked.includes('--offline') ? ['--offline'] : [];
    return runCapstanCommand('capstan', [...asked, ...offline], then);
  }
  const versions =
    flags['version-of'] === undefined
      ? undefined
      : await compareVersions({
          recording,
          file: resolve(io.cwd, file),
          path: resolve(io.cwd, flags['version-of']),
          key: flags.key === undefined ? undefined : resolve(io.cwd, flags.key),
          modules: (flags.operator ?? []).map((module) => resolve(io.cwd, module)),
          operators,
          io,
        });
  if (!flags.results)
    io.stdout(
      isJson
        ? `${JSON.stringify({ ...jsonOf(report), ...(versions && { versions }) })}\n`
        : formatReplay(recording, report, versions),
    );
  return report.differing > 0 || (versions?.differing ?? 0) > 0 ? DIFFERS : 0;
}

interface ReplayFlags {
  readonly until?: Exclude<ReturnType<typeof parseMoment>, { remedy: string }>;
  readonly at?: ReplayFlags['until'];
  readonly step?: boolean;
  readonly results?: boolean;
  readonly key?: string;
  readonly operator?: readonly string[];
  readonly output: 'table' | 'json';
  readonly 'version-of'?: string;
  readonly 'check-purity'?: boolean;
}

function jsonOf(report: ReplayReport): object {
  const differences = report.differences.map((one: ReplayDifference) => ({
    ...one,
    at: new Date(one.at).toISOString(),
    replayed: one.replayed ?? null,
  }));
  return { ...report, differences };
}

/** The command that follows begins at its name: its flags are its own. */
const forwarded: ForwardedCommand = {
  async forward(argv, io) {
    const isAt = argv.some((text) => text === '--at' || text.startsWith('--at='));
    // After the value of --at and the file comes the command.
    const begins = isAt ? argv.findIndex((text, index) => index > 1 && ANSWERING.includes(text)) : -1;
    if (isAt && begins < 0 && !argv.includes('--help') && !argv.includes('-h')) {
      const last = argv.at(-1) ?? '';
      const near = nearest(last, ANSWERING);
      throw UsageErrors.Missing(
        '--at',
        `a command (${ANSWERING.join(', ')})`,
        `capstan replay FILE --at 10:32:05 ${near ?? 'status'}`,
      );
    }
    const own = begins < 0 ? argv : argv.slice(0, begins);
    if (own.includes('--help') || own.includes('-h')) {
      const { runCommand } = await import('../cli.ts');
      return runCommand('capstan', 'replay', definition, ['--help'], io);
    }
    return run(parseCommandLine('capstan replay', definition, own, io.env), begins < 0 ? [] : argv.slice(begins), io);
  },
};

export default { ...definition, ...forwarded };

import { systemClock } from '@capstan/kube';
import { SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { CLUSTER_OPTIONS, command, formatReport, REPORT_OUTPUT, withCluster } from '@capstan/reconcile/command-line';
import { type CheckReport, runChecks } from '../check/run-checks.ts';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { type Colours, coloursFor } from '../text/colours.ts';

export default command({
  usage: 'check [-n NAMESPACE] [--operators LIST] [-o FORMAT]',
  description:
    'Looks at a cluster before an installation and after it: connection, versions, definitions, pods, Leases, rights, certificates,\n' +
    'finalizers, webhooks, and what is of another version, each with what to do about it. Changes nothing. Ends with 1 when there is\n' +
    'a problem.',
  examples: ['capstan check', 'capstan check --operators sesame -o json'],
  options: {
    ...CLUSTER_OPTIONS,
    namespace: {
      type: 'string',
      short: 'n',
      value: 'NAME',
      default: SYSTEM_NAMESPACE,
      help: 'Where the operators run, or would run.',
    },
    ...OPERATOR_OPTIONS,
    output: REPORT_OUTPUT,
  },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const operators = await requireOperators(args, io);
    return withCluster(flags, io, async ({ client }) => {
      const now = (io.clock ?? systemClock).now();
      const report = await runChecks({ client, operators, namespace: flags.namespace, now, signal: io.signal });
      io.stdout(
        await formatReport(flags.output, {
          value: report,
          text: () => formatCheck(report, coloursFor(io)),
          names: () => report.findings.map(({ check, state }) => `${check}/${state}`),
        }),
      );
      return report.passed ? 0 : 1;
    });
  },
});

function formatCheck({ findings }: CheckReport, { green, yellow, red, dim, bold }: Colours): string {
  const marks = { ok: green('ok'), warning: yellow('warning'), problem: red('problem'), unknown: yellow('unknown') };
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.map(({ check, state, message, remedy }) => {
    const padding = ' '.repeat('problem'.length - state.length);
    const after = remedy === undefined ? '' : `\n${' '.repeat(width + 10)}${dim(remedy)}`;
    return `${check.padEnd(width)} ${marks[state]}${padding}  ${message}${after}\n`;
  });
  const count = (state: keyof typeof marks) => findings.filter((one) => one.state === state).length;
  const [problems, warnings, unknown] = [count('problem'), count('warning'), count('unknown')];
  const verdict =
    problems > 0
      ? red(`${problems} ${problems === 1 ? 'problem' : 'problems'}`)
      : warnings + unknown > 0
        ? yellow(`no problem, ${warnings} to look at, ${unknown} not known`)
        : green('everything is in order');
  return `${bold(verdict)}\n\n${lines.join('')}`;
}

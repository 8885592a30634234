import { discover, isForbidden, keyOf, kindId, Namespace, systemClock } from '@capstan/kube/cluster';
import { command, formatReport, objectName, REPORT_OUTPUT, UsageErrors } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import { OPERATOR_OPTIONS } from '../cli/operator-options.ts';
import { findKind } from '../cluster/find-kind.ts';
import { CLUSTER_OPTIONS, type Cluster, withCluster } from '../cluster/open-cluster.ts';
import { type Target, targetOf } from '../cluster/target.ts';
import { formatStatus } from '../status/format-status.ts';
import { gatherStatus, type StatusReport } from '../status/gather-status.ts';
import { type One, statusOfOne } from '../status/status-of-one.ts';
import { type StatusOperator, statusOperators } from '../status/status-operators.ts';
import { watchStatus } from '../status/watch-status.ts';
import { coloursFor } from '../text/colours.ts';

/** With --exit-code. */
const NOT_HEALTHY = 3;

export default command({
  usage: 'status [KIND/NAME] [-n NAMESPACE | -A] [--watch] [--exit-code] [-o FORMAT]',
  description:
    'Lists the objects of the operators that are not healthy: in error, not ready, paused, waiting or being deleted, with the\n' +
    'reason from their status, root causes first; which instance of each operator writes; and the pods that an embedded cluster\n' +
    'only simulates. All namespaces unless -n names one. With KIND/NAME only that object, what it depends on and what depends on it.',
  examples: [
    'capstan status',
    'capstan status --watch',
    'capstan status httpproxy/web -n shop',
    'capstan status -n default --operators sesame -o json',
  ],
  options: {
    ...CLUSTER_OPTIONS,
    namespace: { ...CLUSTER_OPTIONS.namespace, help: 'Only this namespace; default all.' },
    'all-namespaces': { type: 'boolean', short: 'A', help: 'All namespaces; the default.' },
    watch: { type: 'boolean', short: 'w', help: 'Print it again whenever something changes, until Ctrl-C.' },
    'exit-code': { type: 'boolean', help: 'End with 3 when something is not healthy.' },
    ...OPERATOR_OPTIONS,
    output: REPORT_OUTPUT,
  },
  operatorFlags: true,
  positionals: 2,
  async run(args, io) {
    const { flags } = args;
    if (flags.namespace !== undefined && flags['all-namespaces']) throw UsageErrors.Conflicting('-n', '-A');
    const target = args.positionals.length === 0 ? undefined : targetOf(args.command, args.positionals);
    const { clock = systemClock, signal } = io;
    const operators = await statusOperators(args, io);
    return withCluster(flags, io, async ({ client, namespace: own }) => {
      const { namespace } = flags;
      if (namespace !== undefined) await requireNamespace(client, namespace, signal);
      const one = target && (await requireObject(client, target, operators, namespace ?? own, signal));
      const gather = async () => {
        const report = await gatherStatus({ client, operators, namespace, now: clock.now(), signal });
        return one === undefined ? report : statusOfOne(report, one);
      };
      const text = (report: StatusReport) =>
        formatReport(flags.output, {
          value: report,
          text: (isWide) =>
            formatStatus(report, { isWide, colours: coloursFor(io), columns: io.isTerminal ? io.columns : undefined }),
          names: () => report.problems.map(({ kind, object }) => objectName(kind, object.split('/').at(-1) ?? object)),
        });
      if (!flags.watch) {
        const report = await gather();
        io.stdout(await text(report));
        return flags['exit-code'] && !report.healthy ? NOT_HEALTHY : 0;
      }
      let last = '';
      const refresh = async () => {
        const report = await gather();
        const next = flags.output === 'json' ? `${JSON.stringify(report)}\n` : await text(report);
        if (next !== last) io.stdout(io.isTerminal ? `${CLEAR}${next}` : separated(last, next, flags.output));
        last = next;
      };
      await watchStatus({
        client,
        kinds: operators.flatMap(({ kinds }) => kinds.map(({ kind }) => kind)),
        namespace,
        signal,
        refresh,
      });
      return INTERRUPTED;
    });
  },
});

const CLEAR = '\u001B[H\u001B[2J\u001B[3J';
const INTERRUPTED = 130;

function separated(last: string, next: string, output: string): string {
  if (last === '' || output === 'json' || output === 'name') return next;
  return `---\n${next}`;
}

/** Throws for an object that is not there, and for kinds about which operators say nothing. */
async function requireObject(
  client: Cluster['client'],
  target: Target,
  operators: readonly StatusOperator[],
  namespace: string,
  signal: AbortSignal,
): Promise<One> {
  const kind = findKind(await discover(client, { signal }), target.kind);
  const known = operators.flatMap(({ kinds }) => kinds.map((one) => kindId(one.kind)));
  if (!known.includes(kindId(kind))) throw CliErrors.NotOfAnOperator(kind.kind);
  const ref = kind.scope === 'Namespaced' ? { namespace, name: target.name } : { name: target.name };
  if ((await client.find(kind, ref, { signal })) === undefined) throw CliErrors.NoSuchObject(kind.kind, keyOf(ref));
  return { kind: kindId(kind), object: keyOf(ref) };
}

/** An empty answer about a namespace that does not exist would look like good news. */
async function requireNamespace(client: Cluster['client'], name: string, signal: AbortSignal): Promise<void> {
  try {
    if ((await client.find(Namespace, { name }, { signal })) === undefined) throw CliErrors.NoSuchNamespace(name);
  } catch (error) {
    // Rights inside a namespace do not include the right to read it.
    if (!isForbidden(error)) throw error;
  }
}

import { discover, isForbidden, isNotFound, keyOf, kindId, systemClock } from '@capstan/kube';
import { command, formatReport, objectName, REPORT_OUTPUT } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import { OPERATOR_OPTIONS } from '../cli/operator-options.ts';
import { findKind } from '../cluster/find-kind.ts';
import { CLUSTER_OPTIONS, withCluster } from '../cluster/open-cluster.ts';
import { targetOf } from '../cluster/target.ts';
import { statusOperators } from '../status/status-operators.ts';
import { coloursFor } from '../text/colours.ts';
import { formatTree } from './format-tree.ts';
import { type GraphOptions, readGraph } from './object-graph.ts';
import { treeOf } from './tree-report.ts';

/** With --exit-code. */
const NOT_HEALTHY = 3;

export default command({
  usage: 'tree KIND/NAME [-n NAMESPACE] [--exit-code] [-o FORMAT]',
  description:
    'Shows what an object depends on, what needs it, what it owns and what it belongs to, each with its health. Dependencies are the\n' +
    'objects that specs name; one that is named and not there is Missing. Values of Secrets and ConfigMaps are not read.',
  examples: [
    'capstan tree httpproxy/web -n shop',
    'capstan tree provider/storage',
    'capstan tree kafkaproxy/my-proxy -o json',
  ],
  options: {
    ...CLUSTER_OPTIONS,
    'exit-code': {
      type: 'boolean',
      help: 'End with 3 when the object, or one that it depends on or owns, is not healthy.',
    },
    ...OPERATOR_OPTIONS,
    output: REPORT_OUTPUT,
  },
  operatorFlags: true,
  positionals: 2,
  async run(args, io) {
    const { flags } = args;
    const { kind: typed, name } = targetOf(args.command, args.positionals);
    const { clock = systemClock, signal } = io;
    const operators = await statusOperators(args, io);
    return withCluster(flags, io, async ({ client, namespace }) => {
      const discovery = await discover(client, { signal });
      const kind = findKind(discovery, typed);
      const ref = kind.scope === 'Namespaced' ? { namespace, name } : { name };
      const unserved = await unservedProxies(client, clock.now(), signal);
      const graph = await readGraph({ client, discovery, operators, unserved, signal });
      const found = graph.find(kindId(kind), keyOf(ref));
      if (found === undefined) throw CliErrors.NoSuchObject(kind.kind, keyOf(ref));
      const report = treeOf(graph, found);
      io.stdout(
        await formatReport(flags.output, {
          value: report,
          text: () => formatTree(report, coloursFor(io)),
          names: () =>
            [...report.belongsTo, ...report.dependsOn, ...report.neededBy, ...report.owns].map((one) =>
              objectName(one.kind, one.object.split('/').at(-1) ?? one.object),
            ),
        }),
      );
      return flags['exit-code'] && !report.healthy ? NOT_HEALTHY : 0;
    });
  },
});

async function unservedProxies(
  client: GraphOptions['client'],
  now: number,
  signal: AbortSignal,
): Promise<GraphOptions['unserved']> {
  const { findUnserved } = await import('@capstan/sesame/served-classes');
  try {
    const unserved = await findUnserved(client, now, signal);
    return (object) => (object.kind === 'HTTPProxy' ? unserved(object) : undefined);
  } catch (error) {
    if (!isForbidden(error) && !isNotFound(error)) throw error;
    return () => undefined;
  }
}

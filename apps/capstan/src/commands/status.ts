import {
  type Client,
  isForbidden,
  isNotFound,
  type Kind,
  type KubeObject,
  keyOfObject,
  kindId,
  systemClock,
} from '@capstan/kube';
import { isPrimary, type Operator } from '@capstan/reconcile';
import { command, count, json, REPORT_OUTPUT, table } from '@capstan/reconcile/command-line';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { CLUSTER_OPTIONS, withCluster } from '../cluster/open-cluster.ts';
import { type Health, healthOf } from '../status/health-of.ts';
import { type Leader, leaderOf } from '../status/leader-of.ts';

interface KindStatus {
  readonly operator: string;
  /** `Kind.group` */
  readonly kind: string;
  /** Undefined when the kind cannot be read, and why. */
  readonly objects: number | undefined;
  readonly problem?: string;
  readonly notReady: readonly (Health & { readonly object: string })[];
}

export default command({
  usage: 'status [-n NAMESPACE] [--operator FILE] [-o json]',
  description:
    'Lists the objects of the operators that are not as they should be: in error, not ready, paused, waiting or being deleted,\n' +
    'with the reason that their status gives; and which instance of each operator writes. Looks into all namespaces unless -n\n' +
    'names one.',
  examples: [
    'capstan status --operator ./my-operator.ts',
    'capstan status -n edge -o json --operator ./my-operator.ts',
  ],
  options: { ...CLUSTER_OPTIONS, ...OPERATOR_OPTIONS, output: REPORT_OUTPUT },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const operators = await requireOperators(args, io);
    return withCluster(flags, io, async ({ client }) => {
      const now = (io.clock ?? systemClock).now();
      const leaders = await Promise.all(operators.map((operator) => leaderOf(client, operator, now, io.signal)));
      const statuses = await Promise.all(
        operators.flatMap((operator) =>
          operator.kinds.map((kind) => statusOfKind(client, operator, kind, flags.namespace, io.signal)),
        ),
      );
      io.stdout(
        flags.output === 'json' ? json({ operators: leaders, kinds: statuses }) : formatStatus(leaders, statuses),
      );
      return 0;
    });
  },
});

async function statusOfKind(
  client: Client,
  operator: Operator,
  kind: Kind,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<KindStatus> {
  const where = kind.scope === 'Namespaced' && namespace !== undefined ? { namespace } : {};
  const base = { operator: operator.name, kind: kindId(kind) };
  const isSilent = !operator.reconcilers.some(
    (reconciler) => kindId(reconciler.resource) === kindId(kind) && isPrimary(operator, reconciler),
  );
  const notReady: (Health & { object: string })[] = [];
  let objects = 0;
  try {
    for await (const page of client.pages(kind, { ...where, signal })) {
      objects += page.items.length;
      notReady.push(...page.items.map((object) => asRow(object, isSilent)).filter(({ state }) => state !== 'Ready'));
    }
  } catch (error) {
    // One kind that cannot be read must not hide the others.
    if (isNotFound(error)) return { ...base, objects: undefined, problem: 'not installed', notReady };
    if (isForbidden(error)) return { ...base, objects: undefined, problem: 'you may not list it', notReady };
    throw error;
  }
  return { ...base, objects, notReady };
}

function asRow(object: KubeObject, isSilent: boolean) {
  return { object: keyOfObject(object), ...healthOf(object, isSilent) };
}

function formatStatus(leaders: readonly Leader[], statuses: readonly KindStatus[]): string {
  const counts = statuses.map(({ operator, kind, objects, problem, notReady }) => {
    const ready = objects === undefined ? (problem ?? '') : `${objects - notReady.length} of ${objects}`;
    return [operator, kind, ready];
  });
  const rows = statuses.flatMap(({ kind, notReady }) =>
    notReady.map(({ object, state, reason, message }) => [kind, object, state, reason, oneLine(message)]),
  );
  const total = rows.length;
  const rest = total === 0 ? '' : `\n${table(['KIND', 'OBJECT', 'STATE', 'REASON', 'MESSAGE'], rows)}`;
  const hasUnread = statuses.some(({ objects }) => objects === undefined);
  const summary =
    total === 0
      ? hasUnread
        ? ''
        : '\nEverything is as it should be.\n'
      : `\n${count(total, 'object needs', 'objects need')} a look.\n`;
  const writers = table(
    ['OPERATOR', 'LEADER'],
    leaders.map((leader) => [leader.operator, leader.summary]),
  );
  return `${writers}\n${table(['OPERATOR', 'KIND', 'READY'], counts)}${rest}${summary}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

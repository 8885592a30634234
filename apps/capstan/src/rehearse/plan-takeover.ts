// `capstan plan takeover ORIGINAL`: an operator of Capstan over a cluster in which the original runs.
import {
  type Client,
  ConfigMap,
  DaemonSet,
  type DefinedKind,
  Deployment,
  isForbidden,
  isNotFound,
  type Kind,
  type KubeObject,
  keyOfObject,
  kindId,
  Secret,
  Service,
  ServiceAccount,
  systemClock,
} from '@capstan/kube';
import { INVENTORY_LABEL, type PreviewChange, type PreviewWrite, type Runtime } from '@capstan/reconcile';
import { count } from '@capstan/reconcile/command-line';
import type { Io } from '../cli/io.ts';
import { requireOperators } from '../cli/load-operators.ts';
import type { OperatorArgs } from '../cli/operator-options.ts';
import { type FormatPlanOptions, isLasting, valueLine } from '../plan/format-plan.ts';
import { rehearsalLines, sinkLines } from './format-rehearsal.ts';
import { isCreatedBy, type Original } from './originals.ts';
import type { RehearsalFlags } from './plan-upgrade.ts';
import { type Rehearsal, rehearseOperators } from './rehearse-operators.ts';

export interface TakeoverReport extends Rehearsal {
  readonly original: string;
  readonly operator: string;
  /** Workloads of the original, as `Deployment namespace/name`. */
  readonly programs: readonly string[];
  /** Existing objects that become ours and keep their content. */
  readonly unchanged: readonly string[];
  /** Existing objects that become ours and change; in the order of the writes. */
  readonly changed: readonly PreviewWrite[];
  /** Objects of users that are read as they are, by kind; at most their status is written. */
  readonly leftAlone: readonly { readonly kind: string; readonly objects: readonly string[] }[];
  /** Objects that programs of the operator take over once they run; they must not be deleted. */
  readonly takenLater: readonly string[];
  /** Objects that the original created and the operator does not use: they can be deleted after the switch. */
  readonly withoutCounterpart: readonly string[];
  readonly created: readonly string[];
  readonly order: readonly string[];
}

const WORKLOADS: readonly Kind[] = [Deployment, DaemonSet];

export interface TakeoverOptions {
  readonly name: string;
  readonly original: Original;
  /** The resources with which the operator begins. */
  readonly given: readonly KubeObject[];
}

export async function planTakeover(
  args: OperatorArgs & { readonly flags: RehearsalFlags },
  io: Io,
  client: Client,
  { name, original, given }: TakeoverOptions,
): Promise<TakeoverReport> {
  const { signal, clock = systemClock } = io;
  const { timeout: timeoutMs, offline, 'watch-namespaces': watchNamespaces, namespace } = args.flags;
  const operatorFlags = {
    ...args.operatorFlags,
    [original.operator]: { ...original.flags, ...args.operatorFlags[original.operator] },
  };
  const operators = await requireOperators(
    { ...args, operatorFlags, flags: { ...args.flags, operators: args.flags.operators ?? [original.operator] } },
    io,
  );
  const kinds = operators.flatMap((operator) => operator.kinds);
  const begins = given.length > 0 ? given : (original.given ?? []);
  const changes = begins.map((object) => previewChange(object, kinds));
  return rehearseOperators(
    {
      operators,
      client,
      clock,
      signal,
      timeoutMs,
      namespace: namespace ?? 'capstan-system',
      changes,
      ...(watchNamespaces && { watchNamespaces }),
      ...(offline && { isOffline: true }),
      onFact: (what) => io.stderr(`Finding out ${what} …\n`),
    },
    async (runtime, rehearsal) => {
      const unread: string[] = [];
      const list = (kind: Kind) => listed(client, kind, unread, signal);
      const workloads = (await Promise.all(WORKLOADS.map(list))).flat();
      const programs = workloads.filter(({ object }) => imagesOf(object).some((image) => original.image.test(image)));
      const candidates = await Promise.all(candidateKinds(runtime).map(list));
      const theirs = candidates.flat().filter(({ object }) => isCreatedBy(object, original));
      const isProgram = new Set(programs.map(idOf));
      const taken = takenLater(theirs, original, runtime, begins);
      return {
        original: name,
        operator: original.operator,
        programs: [...isProgram],
        ...adopted(rehearsal),
        leftAlone: leftAlone(runtime, rehearsal),
        takenLater: taken.map(idOf).toSorted(),
        withoutCounterpart: withoutCounterpart(
          theirs.filter((one) => !taken.includes(one)),
          rehearsal,
          isProgram,
        ),
        created: lastingWrites(rehearsal).flatMap(({ creates, object }) => (creates === true ? [object] : [])),
        order: original.order({
          stop: programs.map(stopCommand),
          install: `capstan install --operators ${original.operator}`,
        }),
        ...rehearsal,
        notes: [
          ...(programs.length === 0 ? [`no program of ${name} was found: is it the right cluster?`] : []),
          ...(begins.length === 0 && original.needs !== undefined
            ? [`${original.operator} needs ${original.needs}`]
            : []),
          ...(given.length === 0 && begins.length > 0
            ? [
                `planned with ${begins.map((one) => `${one.kind} ${keyOfObject(one)}`).join(', ')}; give your own with -f`,
              ]
            : []),
          ...rehearsal.notes,
        ],
        unread: [...unread, ...rehearsal.unread],
      };
    },
  );
}

function previewChange(object: KubeObject, kinds: readonly Kind[]): PreviewChange {
  const kind =
    kinds.find((one) => one.kind === object.kind && one.apiVersion === object.apiVersion) ??
    kinds.find((one) => one.kind === object.kind);
  if (kind === undefined) throw new TypeError(`${object.apiVersion} ${object.kind} is no kind of the operator`);
  return { kind, object: 'viewOf' in kind ? (kind as DefinedKind).viewOf(object) : object };
}

interface Found {
  readonly kind: Kind;
  readonly object: KubeObject;
}

async function listed(client: Client, kind: Kind, unread: string[], signal: AbortSignal): Promise<Found[]> {
  const found: Found[] = [];
  try {
    for await (const { items } of client.pages<KubeObject>(kind, { signal }))
      found.push(...items.map((object) => ({ kind, object })));
  } catch (error) {
    if (isForbidden(error))
      unread.push(`${kindId(kind)}: you may not list them; which of them the original created is not known`);
    else if (!isNotFound(error)) throw error;
  }
  return found;
}

const idOf = ({ kind, object }: Found) => `${kind.kind} ${keyOfObject(object)}`;

/** Every kind that the operator writes, and those that operators commonly create. */
function candidateKinds({ bindings }: Runtime): Kind[] {
  const written = bindings.flatMap(({ reconciler }) => reconciler.writes.map(({ kind }) => kind));
  const resources = new Set(bindings.map(({ reconciler }) => kindId(reconciler.resource)));
  const all = [...WORKLOADS, Service, ConfigMap, Secret, ServiceAccount, ...written];
  return [...new Map(all.map((kind) => [kindId(kind), kind])).values()].filter((kind) => !resources.has(kindId(kind)));
}

function imagesOf(object: KubeObject): string[] {
  const { spec } = object as { spec?: { template?: { spec?: { containers?: readonly { image?: string }[] } } } };
  return spec?.template?.spec?.containers?.flatMap(({ image }) => image ?? []) ?? [];
}

function stopCommand({ kind, object }: Found): string {
  const { namespace, name } = object.metadata;
  return kind === DaemonSet
    ? `stop it: kubectl -n ${namespace} delete daemonset/${name}`
    : `stop it: kubectl -n ${namespace} scale deployment/${name} --replicas=0`;
}

function lastingWrites({ writes, later }: Pick<Rehearsal, 'writes' | 'later'>): PreviewWrite[] {
  return [...writes, ...later].filter((write) => isLasting(write) && write.verb !== 'status');
}

/** Marks of ownership, which every object of ours has. */
const MARKS =
  /^metadata\.(?:ownerReferences|finalizers|labels\["capstan\.dev|annotations\["(?:[\w.-]+\.)?capstan\.dev)/;

/** The existing objects that no operator has written to so far, by whether their content changes. */
function adopted(rehearsal: Rehearsal): Pick<TakeoverReport, 'unchanged' | 'changed'> {
  const foreign = new Set(lastingWrites(rehearsal).flatMap(({ foreign: is, object }) => (is === true ? [object] : [])));
  const ofThem = lastingWrites(rehearsal).filter(({ object }) => foreign.has(object));
  const shown = ofThem.map((write) => ({ ...write, changes: write.changes.filter(({ path }) => !isMark(path)) }));
  const isChange = ({ verb, changes, disturbs }: PreviewWrite) =>
    verb === 'delete' || changes.length > 0 || disturbs !== undefined;
  const changed = new Set(shown.filter(isChange).map(({ object }) => object));
  return { unchanged: [...foreign].filter((object) => !changed.has(object)), changed: shown.filter(isChange) };
}

function isMark(path: string): boolean {
  return MARKS.test(path) || path.includes(INVENTORY_LABEL);
}

function leftAlone({ engine, bindings }: Runtime, rehearsal: Rehearsal): TakeoverReport['leftAlone'] {
  const written = new Set(lastingWrites(rehearsal).map(({ object }) => object));
  const byKind = new Map<string, Set<string>>();
  for (const { reconciler, writes, world } of bindings) {
    if (world.name !== '') continue;
    const objects = byKind.get(reconciler.resource.kind) ?? new Set<string>();
    for (const key of engine.keysOf(writes)) if (!written.has(`${reconciler.resource.kind} ${key}`)) objects.add(key);
    byKind.set(reconciler.resource.kind, objects);
  }
  return [...byKind].flatMap(([kind, objects]) =>
    objects.size === 0 ? [] : [{ kind, objects: [...objects].toSorted() }],
  );
}

/** The objects with the name of a resource whose program takes them over. */
function takenLater(
  theirs: readonly Found[],
  { taken }: Original,
  { engine, bindings }: Runtime,
  begins: readonly KubeObject[],
): Found[] {
  if (taken === undefined) return [];
  const names = new Set(begins.flatMap(({ kind, metadata }) => (kind === taken.kind ? [metadata.name] : [])));
  for (const { reconciler, writes } of bindings)
    if (reconciler.resource.kind === taken.kind)
      for (const key of engine.keysOf(writes)) names.add(key.slice(key.indexOf('/') + 1));
  return theirs.filter(({ object: { metadata } }) =>
    taken.labels.some((label) => {
      const name = metadata.labels?.[label];
      return name !== undefined && names.has(name);
    }),
  );
}

function withoutCounterpart(theirs: readonly Found[], rehearsal: Rehearsal, programs: ReadonlySet<string>): string[] {
  const written = new Set(lastingWrites(rehearsal).map(({ object }) => object));
  return theirs
    .map(idOf)
    .filter((object) => !written.has(object) && !programs.has(object))
    .toSorted();
}

const MOST_OBJECTS = 20;

export function formatTakeover(report: TakeoverReport, options: FormatPlanOptions): string {
  const {
    original,
    operator,
    programs,
    unchanged,
    changed,
    created,
    takenLater: later,
    withoutCounterpart,
    order,
  } = report;
  const { bold, yellow, dim } = options.colours;
  const some = (objects: readonly string[], sign: string) => [
    ...objects.slice(0, options.isWide ? undefined : MOST_OBJECTS).map((one) => `  ${sign} ${one}`),
    ...(options.isWide || objects.length <= MOST_OBJECTS
      ? []
      : [`  … and ${objects.length - MOST_OBJECTS} more (-o wide)`]),
  ];
  const section = (title: string, lines: readonly string[]) => (lines.length === 0 ? [] : ['', bold(title), ...lines]);
  const changes = changed.flatMap(({ verb, object, disturbs, changes: values }) => [
    `  ${verb === 'delete' ? '-' : '~'} ${object}${disturbs === undefined ? '' : yellow(` (${disturbs})`)}`,
    ...values.map((change) => `      ${valueLine(change, options.isWide)}`),
  ]);
  const alone = report.leftAlone.map(
    ({ kind, objects }) =>
      `  = ${count(objects.length, kind, kind)}  ${dim(objects.slice(0, 3).join(', '))}${objects.length > 3 ? dim(', …') : ''}`,
  );
  const adoptedObjects = new Set([...unchanged, ...changed.map(({ object }) => object)]);
  const rest = {
    ...report,
    writes: report.writes.filter(({ object, verb }) => verb === 'status' || !adoptedObjects.has(object)),
    later: report.later.filter(({ object, verb }) => verb === 'status' || !adoptedObjects.has(object)),
  };
  return `${[
    bold(
      `${operator} in the place of ${original} (${programs.length === 0 ? 'its programs were not found' : programs.join(', ')})`,
    ),
    ...section('Adopted, content unchanged:', some(unchanged, '=')),
    ...section('Adopted and changed:', changes),
    ...section('Left alone:', alone),
    ...section('Taken over by programs of the operator once they run (keep them):', some(later, '=')),
    ...section(`Without a counterpart (delete them after the switch):`, some(withoutCounterpart, '-')),
    ...rehearsalLines(rest, options),
    ...sinkLines(report.sinks, options),
    ...section(
      'In this order:',
      order.map((step, at) => `  ${at + 1}. ${step}`),
    ),
    '',
    `${unchanged.length} adopted unchanged, ${new Set(changed.map(({ object }) => object)).size} changed, ${created.length} created, ${withoutCounterpart.length} without a counterpart. Nothing has been written.`,
  ].join('\n')}\n`;
}

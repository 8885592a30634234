// Plan, then apply, then compare: a change is previewed on a stage and made. Every write of the program is compared with the preview, with
// its order and with its effect on running pods. Then the pods become ready, and the writes that follow are compared too.
import {
  DaemonSet,
  type DefinedKind,
  Deployment,
  equal,
  isNotFound,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  kindId,
  StatefulSet,
  systemClock,
} from '@capstan/kube';
import {
  deliveriesOf,
  INVENTORY_LABEL,
  OWNER_ANNOTATION,
  type PreviewChange,
  type PreviewDelivery,
  type PreviewLater,
  type PreviewResult,
  type PreviewWrite,
  preview,
  unforeseenConditions,
} from '@capstan/reconcile';
import type { Stage } from '../stage.ts';

export interface Foretold {
  readonly stage: Stage;
  /** The changes to preview, as `preview` takes them. */
  readonly changes: readonly PreviewChange[];
  /** The preview, where it was made before; the changes are not previewed then. */
  readonly predicted?: PreviewResult;
  /** Makes the same change. */
  make(): Promise<void>;
}

export interface Comparison {
  readonly predicted: PreviewResult;
  /** Writes that were not predicted, and predicted writes that were not made. Empty: as predicted. */
  readonly differences: readonly string[];
  /** Differences that concern an object which the preview lists as not known. */
  readonly unknown: readonly string[];
  /** How many differences were excused, by the reason. */
  readonly excused: Readonly<Partial<Record<Excuse, number>>>;
}

/** The reasons for which a difference does not count. */
export type Excuse =
  | 'may follow: behind a gate, or with content that is created first'
  | 'undecided: the owner waits for a result'
  | 'status of an object that goes'
  | 'status that ends as it began, not written'
  | 'deletion that waits for a condition, not made';

const MAX_ROUNDS = 6;
/** A preview shows the effects within this time. */
const HORIZON_MS = 10 * 60_000;
const WORKLOADS: readonly Kind[] = [Deployment, StatefulSet, DaemonSet];

/** Previews a change, makes it, and compares; afterwards all pods are ready. */
export async function compareWithPreview({ stage, changes, make, ...given }: Foretold): Promise<Comparison> {
  const { runtime } = stage.program;
  const predicted =
    given.predicted ?? (await preview(runtime, changes, { clock: systemClock, signal: new AbortController().signal }));
  const kinds = kindsByPath(stage);
  const before = await workloads(stage);
  const owners = await ownersOf(stage);
  const delivered = currentValues(stage);
  stage.transport.clear();
  await make();
  await stage.settle();
  const atOnce = requestsOf(stage, kinds);
  const differences = [
    ...compared(atOnce, predicted.writes, 'at once'),
    ...disturbances(before, await workloads(stage), predicted.writes),
    // A program that starts delivers everything, which a preview does not list.
    ...(given.predicted === undefined ? deliveries(stage, delivered, predicted) : []),
  ];
  // The status of an object that goes may be written before it is gone, or not.
  const moot = new Set(
    [
      ...changes.flatMap((change) => ('gone' in change ? [`${change.kind.kind} ${keyOf(change.ref)}`] : [])),
      ...[...predicted.writes, ...predicted.later].filter(({ verb }) => verb === 'delete').map(({ object }) => object),
    ].map((object) => `status of ${object}`),
  );
  stage.transport.clear();
  await toRest(stage);
  const isWaiting = (one: PreviewLater) =>
    one.level > predicted.levels + 1 && one.verb === 'delete' && one.paths.length === 0;
  const made = requestsOf(stage, kinds);
  const isMade = (one: PreviewWrite, by: readonly Request[]) => by.some(({ id }) => id === idOf(one));
  const due = predicted.later.filter((one) => !isWaiting(one) || isMade(one, made));
  // A stage moves its clock while an object is unsettled, so that a status may have been written for the second time already.
  const isDoneBefore = (one: PreviewLater) =>
    one.verb === 'status' && !isMade(one, made) && atOnce.some(({ id, times }) => id === idOf(one) && times > 1);
  const following = due.filter((one) => !isDoneBefore(one));
  differences.push(...compared(made, following, 'once pods are ready'));
  differences.push(...(await statusValues(stage, predicted)));
  const undecided = new Set(predicted.undecided);
  const ofUndecided = [...owners, ...(await ownersOf(stage))].flatMap(([object, owner]) =>
    undecided.has(owner) ? [object] : [],
  );
  const mayFollow = new Set(predicted.mayFollow.flatMap(idsOf));
  const waiting = new Set([...undecided, ...ofUndecided].flatMap(idsOf));
  const excuseOf = ({ ids }: Difference): Excuse | undefined => {
    if (ids.some((id) => mayFollow.has(id))) return 'may follow: behind a gate, or with content that is created first';
    if (ids.some((id) => waiting.has(id))) return 'undecided: the owner waits for a result';
    return ids.every((id) => moot.has(id)) ? 'status of an object that goes' : undefined;
  };
  const isNotWritten = (one: PreviewWrite, by: readonly Request[]) => one.passing === true && !isMade(one, by);
  const excused = countsOf<Excuse>([
    ...differences.flatMap((one) => excuseOf(one) ?? []),
    ...[
      ...predicted.writes.filter((one) => isNotWritten(one, atOnce)),
      ...due.filter((one) => isNotWritten(one, made)),
    ].map(() => 'status that ends as it began, not written' as const),
    ...predicted.later
      .filter((one) => !due.includes(one))
      .map(() => 'deletion that waits for a condition, not made' as const),
  ]);
  const isUnknown = (one: Difference) => ![undefined, 'status of an object that goes'].includes(excuseOf(one));
  return {
    predicted,
    differences: differences.filter((one) => excuseOf(one) === undefined).map(({ text }) => text),
    unknown: differences.filter(isUnknown).map(({ text }) => text),
    excused,
  };
}

function countsOf<T extends string>(all: readonly T[]): Partial<Record<T, number>> {
  const counts: Partial<Record<T, number>> = {};
  for (const one of all) counts[one] = (counts[one] ?? 0) + 1;
  return counts;
}

/** Compares the conditions of the statuses that a preview foresees with those that came. */
async function statusValues({ client, program }: Stage, { statuses }: PreviewResult): Promise<Difference[]> {
  const resources = program.runtime.bindings.map(({ reconciler }) => reconciler.resource);
  const differences: Difference[] = [];
  for (const kind of new Map(resources.map((one) => [kindId(one), one])).values())
    for (const object of Object.keys(statuses).filter((one) => one.split(' ')[0] === kind.kind)) {
      const [name = '', namespace] = (object.split(' ')[1] ?? '').split('/').toReversed();
      const live = await client.find<KubeObject>(kind, { name, ...(namespace !== undefined && { namespace }) });
      if (live === undefined) continue;
      const { status } = live as { status?: unknown };
      for (const text of unforeseenConditions(statuses[object] ?? [], status))
        differences.push({ ids: [`status of ${object}`], text: `the status of ${object}: ${text}` });
    }
  return differences;
}

interface Difference {
  /** The requests that it is about, or the workload. */
  readonly ids: readonly string[];
  readonly text: string;
}

/** Every request that an object may be the subject of; a creation names its kind and namespace alone. */
function idsOf(object: string): string[] {
  return [object, `write ${object}`, `delete ${object}`, `status of ${object}`, creationOf(object)];
}

interface Request {
  /** `write Kind namespace/name`, `delete …`, `status of …`, or `create Kind in namespace`. */
  readonly id: string;
  /** Its place among all requests, and how often it was made. */
  readonly at: number;
  readonly times: number;
}

function requestsOf({ transport }: Stage, kinds: ReadonlyMap<string, string>): Request[] {
  const found = new Map<string, Request>();
  for (const [at, line] of transport.writes.entries()) {
    const [method = '', path = ''] = line.split(' ');
    const id = requestId(method, path, kinds);
    if (id !== undefined) found.set(id, { id, at: found.get(id)?.at ?? at, times: (found.get(id)?.times ?? 0) + 1 });
  }
  return [...found.values()];
}

function requestId(method: string, path: string, kinds: ReadonlyMap<string, string>): string | undefined {
  const parts = path.split('/').slice(1).map(decodeURIComponent);
  const group = parts[0] === 'api' ? '' : (parts[1] ?? '');
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2;
  const [plural = '', name, subresource] = isNamespaced ? rest.slice(2) : rest;
  const namespace = isNamespaced ? rest[1] : undefined;
  // The program elects its leader by a Lease of its own; others are children.
  if (IGNORED.has(plural) || (plural === 'leases' && (name ?? '').startsWith('capstan-'))) return undefined;
  const kind = kinds.get(`${plural}.${group}`) ?? plural;
  const key = namespace === undefined ? name : `${namespace}/${name}`;
  if (method === 'POST') return `create ${kind} in ${namespace ?? 'the cluster'}`;
  if (subresource === 'status') return `status of ${kind} ${key}`;
  return `${method === 'DELETE' ? 'delete' : 'write'} ${kind} ${key}`;
}

/** Written by the program for itself. */
const IGNORED: ReadonlySet<string> = new Set(['events', 'selfsubjectaccessreviews']);

/** Names the request of a write as comparisons do: `write Kind namespace/name`, `status of …`. */
export function idOf({ verb, object, creates }: PreviewWrite): string {
  if (verb === 'status') return `status of ${object}`;
  if (verb === 'delete') return `delete ${object}`;
  if (verb !== 'create' && (verb !== 'mint' || creates !== true)) return `write ${object}`;
  return creationOf(object);
}

function creationOf(object: string): string {
  const [kind = '', key = ''] = object.split(' ');
  return `create ${kind} in ${key.includes('/') ? key.split('/')[0] : 'the cluster'}`;
}

/** Both ways, and for each owner in the order of the levels. Statuses are written at most once a second, so that they have no order. */
function compared(made: readonly Request[], foretold: readonly PreviewWrite[], when: string): Difference[] {
  const ours = foretold.filter(({ by }) => by !== 'garbage collection');
  const expected = new Set(ours.map(idOf));
  const needed = new Set(ours.filter(({ passing }) => passing !== true).map(idOf));
  const found = new Map(made.map(({ id, at }) => [id, at]));
  const ordered = ours.filter(({ verb }) => verb !== 'status');
  const late = ordered.flatMap((first, index) =>
    ordered
      .slice(index + 1)
      .filter((second) => second.for === first.for && second.by === first.by && second.level > first.level)
      .filter((second) => {
        const [a, b] = [found.get(idOf(first)), found.get(idOf(second))];
        return a !== undefined && b !== undefined && a > b && isFirst(ours, second);
      })
      .map((second) => ({
        ids: [idOf(first), idOf(second)],
        text: `${when}: ${idOf(second)} came before ${idOf(first)}`,
      })),
  );
  return [
    ...made
      .filter(({ id }) => !expected.has(id))
      .map(({ id }) => ({ ids: [id], text: `${when}: ${id} was not foretold` })),
    ...[...needed]
      .filter((id) => !found.has(id))
      .map((id) => ({ ids: [id], text: `${when}: ${id} was foretold and not made` })),
    ...late,
  ];
}

/** An object that is written at several levels is ordered by its first write only. */
function isFirst(all: readonly PreviewWrite[], write: PreviewWrite): boolean {
  return all.find((one) => idOf(one) === idOf(write)) === write;
}

/** Returns the owner of each child of the program, as `Kind namespace/name`. */
async function ownersOf({ client, program }: Stage): Promise<Map<string, string>> {
  const written = program.runtime.bindings.flatMap(({ reconciler }) => reconciler.writes.map(({ kind }) => kind));
  const owners = new Map<string, string>();
  for (const kind of new Map(written.map((one) => [kindId(one), one])).values()) {
    try {
      const { items } = await client.list<KubeObject>(kind, { labelSelector: INVENTORY_LABEL });
      for (const object of items) {
        const [, owner = '', key = ''] = object.metadata.annotations?.[OWNER_ANNOTATION]?.split(' ') ?? [];
        owners.set(`${kind.kind} ${keyOfObject(object)}`, `${owner.split('.')[0]} ${key}`);
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return owners;
}

type Values = ReturnType<Stage['program']['runtime']['sinks'][number]['current']>;

function currentValues({ program }: Stage): ReadonlyMap<string, Values> {
  return new Map(program.runtime.sinks.map((binding) => [binding.id, new Map(binding.current())]));
}

/** Compares the deliveries of sinks, and their disturbances. */
function deliveries(stage: Stage, before: ReadonlyMap<string, Values>, predicted: PreviewResult): Difference[] {
  const idOfDelivery = ({ by, key, change, disturbs }: PreviewDelivery) =>
    `${by}: ${key} ${change}${disturbs === undefined ? '' : ` (${disturbs})`}`;
  const real = stage.program.runtime.sinks.flatMap((binding) => {
    const [old, now]: [Values, Values] = [before.get(binding.id) ?? new Map(), binding.current()];
    const changed = [...new Set([...old.keys(), ...now.keys()])]
      .map((key) => ({ key, before: old.get(key)?.value, after: now.get(key)?.value }))
      .filter((one) => !equal(one.before, one.after))
      .toSorted((left, right) => (left.key < right.key ? -1 : 1));
    return deliveriesOf(binding, changed, old).map(idOfDelivery);
  });
  const shown = predicted.deliveries.map(idOfDelivery);
  return [
    ...real.filter((one) => !shown.includes(one)).map((one) => ({ ids: [one], text: `${one} was not foretold` })),
    ...shown.filter((one) => !real.includes(one)).map((one) => ({ ids: [one], text: `${one} was foretold only` })),
  ];
}

interface Workload {
  readonly uid: string | undefined;
  readonly replicas: number;
  readonly template: unknown;
}

async function workloads({ client }: Stage): Promise<ReadonlyMap<string, Workload>> {
  const found = new Map<string, Workload>();
  for (const kind of WORKLOADS) {
    const { items } = await client.list<KubeObject>(kind, {});
    for (const one of items) {
      const { spec } = one as { spec?: { replicas?: number; template?: unknown } };
      const { uid } = one.metadata;
      found.set(`${kind.kind} ${keyOfObject(one)}`, { uid, replicas: spec?.replicas ?? 1, template: spec?.template });
    }
  }
  return found;
}

function disturbances(
  before: ReadonlyMap<string, Workload>,
  after: ReadonlyMap<string, Workload>,
  foretold: readonly PreviewWrite[],
): Difference[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((object) => {
    const real = disturbanceOf(before.get(object), after.get(object));
    const all = foretold.filter((write) => write.object === object).flatMap(({ disturbs }) => disturbs ?? []);
    const shown = [...new Set(all)].toSorted().join(', ') || undefined;
    const text = `${object}: ${real ?? 'nothing happens to its pods'}, and foretold was ${shown ?? 'nothing'}`;
    return real === shown ? [] : [{ ids: [object], text }];
  });
}

function disturbanceOf(before: Workload | undefined, after: Workload | undefined): string | undefined {
  const [old, next] = [before?.replicas ?? 0, after?.replicas ?? 0];
  if (old === 0) return next === 0 ? undefined : 'starts pods';
  if (next === 0) return 'stops pods';
  // Another object has taken the name.
  if (before?.uid !== after?.uid) return 'starts pods, stops pods';
  if (!equal(before?.template, after?.template)) return 'rolls pods';
  return next === old ? undefined : next < old ? 'stops pods' : 'starts pods';
}

/** Lets pods become ready and time pass, as a preview assumes it, until nothing more follows. */
export async function toRest(stage: Stage): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    while (await podsBecomeReady(stage)) await stage.settle();
    const writes = stage.transport.writes.length;
    await stage.clock.advance(HORIZON_MS);
    await stage.settle();
    if (stage.transport.writes.length === writes) return;
  }
}

/** Plays the controllers of workloads: whatever is not ready becomes ready. False when all is ready already. */
export async function podsBecomeReady({ client }: Stage): Promise<boolean> {
  let hasChanged = false;
  for (const kind of WORKLOADS) {
    for (const one of (await client.list<KubeObject>(kind, {})).items) {
      const { metadata, spec, status } = one as KubeObject & {
        spec?: { replicas?: number };
        status?: Record<string, unknown>;
      };
      const next = readyStatus(kind, metadata.generation ?? 1, spec?.replicas ?? 1);
      const isReady = Object.entries(next).every(
        ([name, value]) => name === 'conditions' || (status?.[name] ?? 0) === value,
      );
      if (isReady) continue;
      hasChanged = true;
      const ref = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
      await client.patch(kind, ref, 'merge', { status: next }, { subresource: 'status' });
    }
  }
  return hasChanged;
}

function readyStatus(kind: Kind, observedGeneration: number, count: number): Record<string, unknown> {
  if (kind === DaemonSet) {
    const ready = { desiredNumberScheduled: 1, currentNumberScheduled: 1, updatedNumberScheduled: 1 };
    return { observedGeneration, ...ready, numberReady: 1, numberAvailable: 1 };
  }
  const status = { observedGeneration, replicas: count, updatedReplicas: count, readyReplicas: count };
  if (kind === StatefulSet) return { ...status, availableReplicas: count };
  const conditions = [
    { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable' },
    { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
  ];
  return { ...status, availableReplicas: count, conditions };
}

/** By `plural.group`, with the kinds under which objects are written as well. */
function kindsByPath({ program }: Stage): Map<string, string> {
  const declared = program.runtime.bindings.flatMap(({ reconciler }) => [
    reconciler.resource,
    ...[...reconciler.reads, ...reconciler.writes].map(({ kind }) => kind),
  ]);
  const kinds = declared.flatMap((kind) => {
    const { aliases = [] } = kind as Kind & Partial<Pick<DefinedKind, 'aliases'>>;
    return [kind, ...aliases.map((alias) => alias.kind)];
  });
  return new Map(
    kinds.map(({ plural, apiVersion, kind }) => {
      const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
      return [`${plural}.${group}`, kind];
    }),
  );
}

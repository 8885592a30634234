import { type KubeObject, Lease } from '@capstan/kube';
import { causesFromReads, leaseName, objectGraph, type RuntimeCauses, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import type { FillingKind, OverviewAnswer, OverviewRoot } from '../api-types.ts';
import type { Row, Rows } from './rows.ts';
import type { ConsoleSource } from './source.ts';

const MAX_ROOTS = 50;
const MAX_AFFECTED = 20;
const MAX_CHAIN = 5;
const MAX_NAMESPACES = 100;

export function overviewOf(
  source: ConsoleSource,
  rows: Rows,
  { roots: all, absent, causesOf }: RuntimeCauses,
  namespace?: string,
): OverviewAnswer {
  const filling = fillingOf(source);
  const found = namespace === undefined ? all : all.filter((root) => concerns(root, namespace));
  const roots = filling.length === 0 ? found : withoutUndecided(source, rows, found, filling);
  const isShown = ({ key }: Pick<Row, 'key'>) => namespace === undefined || namespaceOf(key) === namespace;
  const progress = rows.unready().filter((row) => row.state === 'progress' && isShown(row));
  const { operators, namespaces } = countsOf(source, rows, isShown);
  const shown = roots.slice(0, MAX_ROOTS).flatMap(({ id, affects }): OverviewRoot[] => {
    const common = {
      id,
      affects: affects.slice(0, MAX_AFFECTED),
      affectsCount: affects.length,
      ...chainTo(id, affects, causesOf),
    };
    const missing = absent.get(id);
    const row = rows.all.get(id);
    if (missing !== undefined) {
      const since = affects.flatMap((one) => rows.all.get(one)?.since ?? []).toSorted()[0];
      const text = { reason: 'NotFound', message: 'it does not exist; create it' };
      return [{ ...missing, ...common, ...text, state: 'absent', ...(since !== undefined && { since }) }];
    }
    if (row === undefined) return [];
    const { world, kind, key, reason, message, since } = row;
    const state = row.state === 'paused' ? 'paused' : 'broken';
    return [{ world, kind, key, reason, message, state, ...common, ...(since !== undefined && { since }) }];
  });
  return {
    roots: shown,
    rootCount: roots.length,
    heldCount: found.length - roots.length,
    progress: progress.slice(0, MAX_ROOTS),
    progressCount: progress.length,
    operators,
    sinks: source.runtime.sinks.map(({ id, current }) => ({ id, keys: current().size })).filter(({ keys }) => keys > 0),
    filling,
    namespaces,
  };
}

/** A root concerns the namespace that it is in, and those of the objects that it affects. */
function concerns({ id, affects }: RuntimeCauses['roots'][number], namespace: string): boolean {
  return [id, ...affects].some((one) => namespaceOf(one.slice(one.indexOf(' ') + 1)) === namespace);
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

interface LeaseFields {
  readonly spec?: { readonly holderIdentity?: string };
}

/** As the Lease names it, where Leases are cached. */
function leaderOf({ worlds }: ConsoleSource['runtime'], operator: string): string | undefined {
  const lease: KubeObject | undefined = worlds
    .get('')
    ?.readTable(Lease)
    ?.peek(`${SYSTEM_NAMESPACE}/${leaseName(operator)}`);
  const { holderIdentity = '' } = (lease as LeaseFields | undefined)?.spec ?? {};
  return holderIdentity === '' ? undefined : holderIdentity;
}

function fillingOf({ runtime }: ConsoleSource): FillingKind[] {
  return [...runtime.worlds.values()].flatMap((world) => world.filling().map((one) => ({ world: world.name, ...one })));
}

/** So many roots are checked at most: each costs a walk over its reads. */
const MAX_CHECKED = 500;

/** A problem that reads an object of a kind that is not listed yet may have its cause there. */
function withoutUndecided(
  { runtime }: ConsoleSource,
  rows: Rows,
  roots: RuntimeCauses['roots'],
  filling: readonly FillingKind[],
): RuntimeCauses['roots'] {
  const graph = objectGraph(runtime);
  const awaited = new Set(filling.map(({ world, kind }) => `${world}/${kind}`));
  return roots.slice(0, MAX_CHECKED).filter(({ id }) => {
    const row = rows.all.get(id);
    // The plan of an object that waits for its first inputs has no reads yet.
    const reads = row === undefined ? [] : graph.readsOf(row);
    if (row !== undefined && reads.length === 0) return false;
    return !reads.some(({ world, kind, presence }) => presence === 'unknown' && awaited.has(`${world}/${kind}`));
  });
}

/** From the root to the farthest of the affected objects; the middle is left out where it is long. */
function chainTo(
  root: string,
  affects: readonly string[],
  causesOf: (id: string) => readonly string[],
): Pick<OverviewRoot, 'chain' | 'chainLeft'> {
  // Affected objects come in the order of their distance, so each step goes to one that comes earlier.
  const place = new Map([[root, -1], ...affects.map((id, at) => [id, at] as const)]);
  const path: string[] = [];
  for (let next = affects.at(-1); next !== undefined; ) {
    path.unshift(next);
    const at = place.get(next) ?? -1;
    next = causesOf(next).find((id) => (place.get(id) ?? at) < at && id !== root);
  }
  const chain = [root, ...path];
  if (chain.length <= MAX_CHAIN) return { chain, chainLeft: 0 };
  return { chain: [...chain.slice(0, 2), ...chain.slice(2 - MAX_CHAIN)], chainLeft: chain.length - MAX_CHAIN };
}

function countsOf(
  { operators, runtime }: ConsoleSource,
  rows: Rows,
  isShown: (row: Row) => boolean,
): Pick<OverviewAnswer, 'operators' | 'namespaces'> {
  const namespaces = new Map<string, { name: string; objects: number; unready: number }>();
  const counts = new Map(
    operators.map(({ name }) => {
      const leader = leaderOf(runtime, name);
      return [name, { name, objects: 0, ready: 0, delivered: 0, ...(leader !== undefined && { leader }) }];
    }),
  );
  for (const { id, current } of runtime.sinks) {
    // Instances of an operator have its name before their own.
    const count = [...counts.values()].find(({ name }) => id.startsWith(`${name}.`) || id.startsWith(`${name}-`));
    if (count !== undefined) count.delivered += current().size;
  }
  for (const row of rows.all.values()) {
    const count = row.operator === undefined ? undefined : counts.get(row.operator);
    if (count === undefined) continue;
    const isReady = row.state === 'ready';
    const name = namespaceOf(row.key);
    if (name !== '') {
      const known = namespaces.get(name) ?? { name, objects: 0, unready: 0 };
      known.objects++;
      if (!isReady) known.unready++;
      namespaces.set(name, known);
    }
    if (!isShown(row)) continue;
    count.objects++;
    if (isReady) count.ready++;
  }
  const worstFirst = [...namespaces.values()].toSorted((a, b) => b.unready - a.unready || (a.name < b.name ? -1 : 1));
  return { operators: [...counts.values()], namespaces: worstFirst.slice(0, MAX_NAMESPACES) };
}

/** Computes root causes once for each state of the rows: several answers need them, and their walk visits every unhealthy object. */
export function createKnownCauses({ runtime }: Pick<ConsoleSource, 'runtime'>, rows: Rows): () => RuntimeCauses {
  let known: { readonly version: number; readonly wave: number; readonly causes: RuntimeCauses } | undefined;
  return () => {
    const { version } = rows;
    // A wave may change the reads without a change of any row.
    const { wave } = runtime.engine.stats();
    if (known?.version === version && known.wave === wave) return known.causes;
    const problems = rows.unready().map(({ world, kind, key, message, state }) => ({
      world,
      kind,
      key,
      message,
      state: state === 'progress' ? ('progress' as const) : ('broken' as const),
    }));
    known = { version, wave, causes: causesFromReads(runtime, problems) };
    return known.causes;
  };
}

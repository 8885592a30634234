// A runtime that only reads: its caches fill, its reconcilers run, and it never leads, so nothing can be written.
import {
  type Client,
  type Clock,
  type Kind,
  kindId,
  type Logger,
  type Random,
  sleep,
  untilAborted,
} from '@capstan/kube';
import {
  createRuntime,
  type Declaring,
  type DigestKey,
  findDigestKey,
  followClusterSecrets,
  type Leadership,
  type Operator,
  type Runtime,
  readsSensitive,
  requirementsOf,
  rolesOf,
  type World,
} from '@capstan/reconcile';
import { CliErrors } from '../cli/errors.ts';

export interface WarmRuntimeOptions {
  operators: readonly Operator[];
  /** Operators that run in programs of their own; each uses digests in its own process only. */
  instances?: readonly Operator[];
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  signal: AbortSignal;
  /** How long the caches may take to fill, and then the reconcilers to get their inputs. */
  timeoutMs: number;
  /** Where the operators run. */
  namespace: string;
  /** Where their digest keys may be, the likeliest first. */
  keyNamespaces: readonly string[];
  watchNamespaces?: readonly string[];
  /** Nothing outside of the cluster is asked. */
  isOffline?: boolean;
}

export interface WarmRuntime extends RuntimeNotes {
  readonly runtime: Runtime;
  stop(): Promise<void>;
}

export interface RuntimeNotes {
  /** The assumptions of the runtime. */
  readonly notes: readonly string[];
  /** Kinds that the user may not read: nothing is known of objects that depend on them. */
  readonly unseen: readonly string[];
}

export interface FillingRuntime {
  readonly runtime: Runtime;
  /**
   * Resolves when the caches are full and every reconciler has its inputs, or as many of them as can be read. Rejects when that takes
   * longer than the timeout; a later call waits again.
   */
  warm(): Promise<RuntimeNotes>;
  stop(): Promise<void>;
}

const POLL_MS = 20;

/** Returns a runtime that is warm. */
export async function warmRuntime(options: WarmRuntimeOptions): Promise<WarmRuntime> {
  const { runtime, warm, stop } = fillingRuntime(options);
  try {
    return { runtime, ...(await warm()), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Returns a runtime at once, whose caches fill. */
export function fillingRuntime(options: WarmRuntimeOptions): FillingRuntime {
  const { instances = [], client, clock, signal, namespace, watchNamespaces } = options;
  const { random, logger } = options;
  const operators = [...options.operators, ...instances];
  const facts = options.isOffline ? 'none' : 'readOnly';
  const runtime = createRuntime({ operators, clock, random, logger, leadership: () => neverLeads, whole: true, facts });
  const leaving = new AbortController();
  // Other clusters are part of the preview as far as they can be reached; their unknowns are listed.
  const clusters = followClusterSecrets({
    client,
    runtime,
    roles: rolesOf(declaringIn(operators)),
    namespace: options.keyNamespaces[0] ?? namespace,
    clock,
    random,
    logger,
    userAgent: 'capstan',
    signal: leaving.signal,
  });
  const stop = async () => {
    leaving.abort();
    await clusters;
    await runtime.run(AbortSignal.abort());
  };
  const world = runtime.addWorld({ name: '', client, namespace, ...(watchNamespaces && { watchNamespaces }) });
  const until = AbortSignal.any([signal, leaving.signal]);

  for (const { name } of instances) runtime.setDigestKey(OWN_KEY, name);
  // Reads that need a key wait for it, and the lists are under way meanwhile.
  const keyed = Promise.all(
    options.operators.filter(readsSensitive).map(async (operator) => {
      const { key, note } = await digestKeyOf(operator, client, options.keyNamespaces, until);
      runtime.setDigestKey(key, operator.name);
      return note === undefined ? [] : [note];
    }),
  );
  // It may fail before anything waits for it.
  keyed.catch(() => undefined);

  async function warm(): Promise<RuntimeNotes> {
    const deadline = clock.now() + options.timeoutMs;
    const notes = (await keyed).flat();
    const assumed = await filled(world, kindsOf(operators), { ...options, signal: until }, deadline);
    const optional = optionalKinds(operators);
    // Optional kinds of an operator are not reported as missing.
    const missed = [...assumed].filter(([id]) => !optional.has(id));
    const isForbidden = (id: string) => world.access.peek(id) === 'forbidden';
    const hidden = [...assumed.keys()].filter(isForbidden);
    const unseen = missed.filter(([id]) => isForbidden(id)).map(([, note]) => note);
    notes.push(...missed.filter(([id]) => !isForbidden(id)).map(([, note]) => note));
    const isFilling = () => [...runtime.worlds.values()].some((other) => other !== world && !other.isSynced);
    // Referenced objects and facts are fetched once a reconciler reads them; those that do not arrive are unknowns of the preview.
    for (
      await runtime.settle();
      (isSuspended(runtime, hidden) || isFilling()) && clock.now() < deadline;
      await runtime.settle()
    ) {
      await sleep(clock, POLL_MS, until);
    }
    return { notes, unseen };
  }

  return { runtime, warm, stop };
}

/** Returns true while a reconciler waits for a result that may still come. Facts that a plan does not perform and hidden kinds never come. */
function isSuspended(runtime: Runtime, hidden: readonly string[]): boolean {
  if (runtime.suspended === 0) return false;
  const tables = hidden.flatMap((id) => [id, `our ${id}`]).flatMap((name) => [`${name}/`, `${name}[`]);
  const facts = runtime.facts
    .filter(({ fact }) => runtime.performedFacts === 'none' || fact.readOnly !== true)
    .map(({ table }) => `${table.name}/`);
  const never = [...facts, ...tables];
  if (never.length === 0) return true;
  const waiting = runtime.status().reconcilers.flatMap(({ suspended }) => suspended);
  return waiting.some(({ waitingFor }) => waitingFor.some((what) => !never.some((name) => what.startsWith(name))));
}

/** Waits until every kind is listed, or known not to be readable; the latter come back as notes. */
async function filled(world: World, kinds: readonly Kind[], options: WarmRuntimeOptions, deadline: number) {
  const { clock, signal, timeoutMs } = options;
  const notes = new Map<string, string>();
  for (;;) {
    const missing = kinds.filter((kind) => world.access.peek(kindId(kind)) !== 'served' && !notes.has(kindId(kind)));
    for (const kind of missing) {
      const id = kindId(kind);
      const access = world.access.peek(id);
      if (access === 'forbidden')
        notes.set(id, `${id}: you may not read objects of this kind; what depends on them is not known`);
      if (access !== 'not-served') continue;
      notes.set(id, `${id} is not installed in this cluster: taken as if there were none`);
      world.readTable(kind)?.synced();
      world.childTable(kind)?.synced();
    }
    if (missing.every((kind) => notes.has(kindId(kind)))) return notes;
    if (clock.now() >= deadline) throw CliErrors.NotSynced(timeoutMs / 1000, world.waitingFor());
    await sleep(clock, POLL_MS, signal);
  }
}

function optionalKinds(operators: readonly Operator[]): Set<string> {
  const needed = [...requirementsOf(declaringIn(operators)).values()];
  return new Set(needed.filter(({ optional }) => optional).map(({ kind }) => kindId(kind)));
}

/** The kinds that the local cluster must serve. Kinds of optional parts are added when the parts are enabled. */
function kindsOf(operators: readonly Operator[]): Kind[] {
  const needed = [...requirementsOf(declaringIn(operators)).values()];
  return needed.filter(({ conditional }) => !conditional).map(({ kind }) => kind);
}

function declaringIn(operators: readonly Operator[]): readonly Declaring[] {
  return operators.flatMap(({ reconcilers, sinks = [] }) => [...reconcilers, ...sinks]);
}

/** It compares with that of no other process. */
const OWN_KEY: DigestKey = { id: 'none', bytes: new Uint8Array(32) };

/** An operator's own key, so that digests of secrets compare with those that are there; else one that compares with none. */
async function digestKeyOf(
  operator: Operator,
  client: Client,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<{ key: DigestKey; note?: string }> {
  for (const namespace of namespaces) {
    try {
      const key = await findDigestKey(client, { namespace, operator: operator.name, signal });
      if (key !== undefined) return { key };
    } catch (error) {
      if (signal.aborted) throw error;
    }
  }
  return {
    key: OWN_KEY,
    note: `no digest key of ${operator.name} in the namespace ${namespaces.join(' or ')} (see --operator-namespace): a change of secret data alone does not show`,
  };
}

export const neverLeads: Leadership = {
  holds: false,
  run: untilAborted,
  onChange: () => () => {},
};

// Everything that the console shows of a cluster, from a runtime of its own that never leads: it reads with the rights of the client.

import type { ConsoleSource, EventAnswer } from '@capstan/console';
import {
  type Client,
  type Clock,
  CoreEvent,
  type KubeObject,
  type Logger,
  type Random,
  SelfSubjectReview,
} from '@capstan/kube';
import { findInstances, type Operator, type Runtime, SYSTEM_NAMESPACE, withReports } from '@capstan/reconcile';
import { fillingRuntime, type RuntimeNotes } from '../plan/warm-runtime.ts';
import { VERSION } from '../version.ts';
import { healthIn } from './console-health.ts';
import { deliveriesOf } from './deliveries.ts';
import { operatorReports } from './operator-reports.ts';
import { addOtherClusters, type OtherCluster, observerOf } from './other-clusters.ts';
import { createPlanner } from './planner.ts';
import { schemaOf } from './schema-of.ts';

export interface OpenSourceOptions {
  readonly operators: readonly Operator[];
  readonly client: Client;
  readonly context: string;
  /** The namespace of manifests without one. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly writes: boolean;
  /** Other clusters that the program knows. Their objects are shown, and never planned. */
  readonly others?: readonly OtherCluster[];
  /** The runtime of the operators, where they run in this process. */
  delivering?(): Runtime | undefined;
}

export interface OpenedSource {
  readonly source: ConsoleSource;
  stop(): Promise<void>;
}

const MAX_EVENTS = 50;

export async function openSource(options: OpenSourceOptions): Promise<OpenedSource> {
  const { operators, client, clock, signal, timeoutMs, namespace, writes, others = [] } = options;
  const [instances, user] = await Promise.all([
    findInstances(operators, { client, clock, signal, given: [], timeoutMs }),
    userOf(client, signal),
  ]);
  const shown = [operators, instances.operators].map((some) => some.map(withReports));
  const [own = [], beside = []] = shown;
  // The page shows the caches while they fill.
  const { runtime, warm, stop } = fillingRuntime({
    ...options,
    operators: own,
    instances: others.length === 0 ? beside : [...beside, observerOf(operators)],
    namespace,
    keyNamespaces: [SYSTEM_NAMESPACE, namespace],
  });
  addOtherClusters(runtime, others, namespace);
  let warming: Promise<RuntimeNotes> | undefined;
  /** Plans wait for full caches. One that waited in vain is refused, and the next one waits again. */
  const notesOf = async (): Promise<RuntimeNotes> => {
    warming ??= warm().catch((error: unknown) => {
      warming = undefined;
      throw error;
    });
    const { notes, unseen } = await warming;
    return { notes: [...instances.notes, ...notes], unseen };
  };
  notesOf().catch(() => undefined);
  const health = healthIn(operators);
  const planner = createPlanner({ ...options, runtime, notesOf, all: [...own, ...beside] });
  const reports = operatorReports({
    runtime,
    operators: [...own, ...beside],
    client,
    others: others.map((one) => one.client),
    clock,
    timeoutMs,
    changesOf: planner.changesOf,
  });
  const source: ConsoleSource = {
    runtime,
    reports: () => reports,
    operators,
    writes,
    session: { context: options.context, version: VERSION, ...(user !== undefined && { user }) },
    healthOf: health,
    fetch(id, kind, until) {
      // Objects of other clusters are read as the runtime reads them: with the credentials that this cluster has for them.
      const at = id.world === '' ? client : runtime.worlds.get(id.world)?.client;
      const [first = '', name] = id.key.split('/');
      const ref = name === undefined ? { name: first } : { namespace: first, name };
      return at === undefined ? Promise.resolve(undefined) : at.find<KubeObject>(kind, ref, { signal: until });
    },
    deliveriesOf: deliveriesOf({ ...options, runtime }),
    schema: (kind, until) => schemaOf(client, kind, until),
    events: (object, until) => eventsOf(client, object, until),
    plan: planner.plan,
  };
  return { source, stop };
}

/** Returns the name that the server has for the user; undefined where it does not say. */
async function userOf(client: Client, signal: AbortSignal): Promise<string | undefined> {
  const body = { apiVersion: SelfSubjectReview.apiVersion, kind: SelfSubjectReview.kind, metadata: { name: '' } };
  try {
    const { status } = (await client.create(SelfSubjectReview, body, { signal })) as {
      status?: { userInfo?: { username?: string } };
    };
    return status?.userInfo?.username;
  } catch {
    return undefined;
  }
}

/** Returns the Events about an object; undefined where they may not be read. */
async function eventsOf(
  client: Client,
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<readonly EventAnswer[] | undefined> {
  const { uid, namespace = 'default' } = metadata;
  try {
    const { items } = await client.list<KubeObject & EventFields>(CoreEvent, {
      namespace,
      fieldSelector: `involvedObject.uid=${uid ?? ''}`,
      signal,
    });
    return items
      .map(({ type = '', reason = '', message = '', count = 1, lastTimestamp, eventTime, metadata: own }) => {
        const at = lastTimestamp ?? eventTime ?? own.creationTimestamp ?? '';
        return { type, reason, message, count, at };
      })
      .toSorted((a, b) => (a.at < b.at ? 1 : -1))
      .slice(0, MAX_EVENTS);
  } catch {
    return undefined;
  }
}

interface EventFields {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

// The operators of this version, run read-only over a live cluster: the writes that they would make at their start.
import { type Client, type Clock, refOf, silentLogger, sleep } from '@capstan/kube';
import {
  findInstances,
  type Operator,
  type PreviewChange,
  type PreviewResult,
  previewStanding,
  type Runtime,
  SYSTEM_NAMESPACE,
} from '@capstan/reconcile';
import { count } from '@capstan/reconcile/command-line';
import { predictRefusals } from '../plan/predict-refusals.ts';
import { warmRuntime } from '../plan/warm-runtime.ts';

export interface RehearsalOptions {
  readonly operators: readonly Operator[];
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** The namespace of the operators. */
  readonly namespace: string;
  readonly watchNamespaces?: readonly string[];
  readonly isOffline?: boolean;
  /** Objects that are given besides. */
  readonly changes?: readonly PreviewChange[];
  /** Is shown the facts that are fetched. */
  onFact(what: string): void;
}

export interface Rehearsal extends Omit<PreviewResult, 'bodies' | 'statuses'> {
  readonly refusals: readonly string[];
  readonly notes: readonly string[];
  /** Kinds that could not be read. */
  readonly unread: readonly string[];
  /** The sinks whose messages are not compared, with the number of messages that each client would get, and their keys. */
  readonly sinks: readonly { readonly sink: string; readonly messages: number; readonly keys: readonly string[] }[];
}

/** A program that runs beside needs less than this to react to an event. */
const REACTION_MS = 2000;

export async function rehearseOperators<R>(
  options: RehearsalOptions,
  use: (runtime: Runtime, rehearsal: Rehearsal) => R | Promise<R>,
): Promise<R> {
  const { operators, client, clock, signal, timeoutMs, namespace, watchNamespaces, isOffline, changes = [] } = options;
  const given = changes.flatMap((change) =>
    'object' in change ? [{ kind: change.kind, after: change.object, ref: refOf(change.object) }] : [],
  );
  const instances = await findInstances(operators, { client, clock, signal, given, timeoutMs });
  const { runtime, notes, unseen, stop } = await warmRuntime({
    operators,
    instances: instances.operators,
    client,
    clock,
    random: Math.random,
    logger: silentLogger,
    signal,
    timeoutMs,
    namespace,
    keyNamespaces: [...new Set([namespace, SYSTEM_NAMESPACE])],
    ...(watchNamespaces && { watchNamespaces }),
    ...(isOffline && { isOffline }),
  });
  try {
    const preview = () =>
      previewStanding(runtime, { clock, signal, factTimeoutMs: timeoutMs, onFact: options.onFact }, changes);
    const first = await preview();
    const isQuiet = first.writes.length === 0 && first.later.length === 0;
    if (!isQuiet) await sleep(clock, REACTION_MS, signal);
    const { result, passing } = isQuiet ? { result: first, passing: 0 } : lasting(first, await preview());
    const { bodies, statuses: _statuses, ...previewed } = result;
    const { refused, notAsked } = await predictRefusals(client, bodies, signal);
    return await use(runtime, {
      ...previewed,
      refusals: refused,
      notes: [
        ...instances.notes,
        ...notes,
        ...(passing === 0
          ? []
          : [
              `the cluster changed during the rehearsal: ${count(passing, 'write')} that the running program may just have made are left out; run it again to see them`,
            ]),
        ...(notAsked === 0
          ? []
          : [`whether the server would accept ${count(notAsked, 'write')} of the operators could not be checked`]),
      ],
      unread: unseen,
      sinks: runtime.sinks.map((sink) => {
        const keys = [...sink.current().keys()].toSorted();
        return { sink: sink.id, messages: keys.length, keys };
      }),
    });
  } finally {
    await stop();
  }
}

/** Keeps the writes of the second preview that the first one has too: the running program makes the others itself. */
function lasting(first: PreviewResult, second: PreviewResult): { result: PreviewResult; passing: number } {
  const idOf = ({ by, for: owner, verb, object }: PreviewResult['writes'][number]) =>
    JSON.stringify([by, owner, verb, object]);
  const known = new Set([...first.writes, ...first.later].map(idOf));
  const isKnown = (write: PreviewResult['writes'][number]) => known.has(idOf(write));
  const [writes, later] = [second.writes.filter(isKnown), second.later.filter(isKnown)];
  return {
    result: { ...second, writes, later },
    passing: second.writes.length + second.later.length - writes.length - later.length,
  };
}

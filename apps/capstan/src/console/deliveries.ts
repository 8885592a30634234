// How far the deliveries of an object are: as the outside reports it where a sink can ask, else as the process that delivers knows it,
// where that is this one.
import type { ConsoleSource } from '@capstan/console';
import { type Client, reasonOf } from '@capstan/kube';
import type { Acknowledgement, Runtime, SinkState } from '@capstan/reconcile';

export interface DeliveriesOptions {
  /** The one of the console. */
  readonly runtime: Runtime;
  readonly client: Client;
  /** The one of the operators, where they run in this process. */
  delivering?(): Runtime | undefined;
}

/** A page does not wait for longer than that for processes that do not answer. */
const ASK_MS = 2000;

export function deliveriesOf(options: DeliveriesOptions): NonNullable<ConsoleSource['deliveriesOf']> {
  const { runtime, client } = options;
  return async ({ kind, key: name }, keys, signal) => {
    const found = new Map<string, Acknowledgement>();
    const object = `${kind.split('.')[0] ?? kind} ${name}`;
    const bySink = Map.groupBy(keys, ({ sink }) => sink);
    await Promise.all(
      [...bySink].map(async ([id, asked]) => {
        const { sink } = runtime.sinks.find((one) => one.id === id) ?? {};
        const own = options.delivering?.()?.sinks.find((one) => one.id === id);
        const until = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]);
        const answers = await sink
          ?.acknowledgements?.({ object, keys: asked.map(({ key }) => key) }, { client, signal: until })
          .catch((error: unknown) => {
            signal.throwIfAborted();
            const message = until.aborted ? `no answer within ${ASK_MS / 1000} s` : reasonOf(error);
            return new Map(asked.map(({ key }): [string, Acknowledgement] => [key, { state: 'not-known', message }]));
          });
        for (const { key } of asked) {
          const answer = answers?.get(key) ?? (own === undefined ? undefined : acknowledgementOf(own.stateOf(key)));
          if (answer !== undefined) found.set(`${id} ${key}`, answer);
        }
      }),
    );
    return found;
  };
}

function acknowledgementOf({ state, error, failures }: SinkState): Acknowledgement {
  if (state === 'delivered') return { state: 'acknowledged' };
  const message = error?.message;
  if (state === 'failed') return { state: 'rejected', message: `${message ?? 'no reason'} (${failures} attempts)` };
  return { state: 'waiting', ...(message !== undefined && { message }) };
}

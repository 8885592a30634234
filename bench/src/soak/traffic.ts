// Requests through Envoy during a soak: none may fail while control planes and operators die.
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, Pod } from '@capstan/kube';

export interface Traffic {
  readonly answered: number;
  /** The number of each kind of failure. */
  readonly failures: ReadonlyMap<string, number>;
  /** Undefined where Envoy runs on this machine. */
  readonly missing: string | undefined;
  stop(): Promise<void>;
}

const PERIOD_MS = 250;
const ANSWER_LIMIT_MS = 15_000;

export async function startTraffic(client: Client): Promise<Traffic> {
  const { items } = await client.list(Pod, { namespace: 'default', labelSelector: 'app=envoy-edge' });
  const isReal = (pod: Pod) => !Object.keys(pod.metadata.annotations ?? {}).some((name) => name.includes('simulated'));
  const address = items.filter(isReal).flatMap(({ status }) => status?.podIP ?? [])[0];
  const failures = new Map<string, number>();
  let answered = 0;
  if (address === undefined || !(await becomesReady(address)))
    return {
      answered,
      failures,
      missing: 'Envoy is simulated or does not answer; npm run setup:real -- envoy fetches it',
      stop: async () => {},
    };
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      const result = await answerOf(address);
      if (result === '200') answered++;
      else failures.set(result, (failures.get(result) ?? 0) + 1);
      await sleep(PERIOD_MS);
    }
  })();
  return {
    get answered() {
      return answered;
    },
    failures,
    missing: undefined,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function becomesReady(address: string): Promise<boolean> {
  for (let tries = 0; tries < 240; tries++) {
    if ((await answerOf(address)) === '200') return true;
    await sleep(500);
  }
  return false;
}

/** Returns the status code of an answer, or the code of the error. */
function answerOf(address: string): Promise<string> {
  return new Promise((resolve) => {
    const asked = request(
      { host: address, port: 8080, path: '/', headers: { host: 'store.test' }, agent: false, timeout: ANSWER_LIMIT_MS },
      (answer) => {
        answer.resume();
        answer.once('end', () => resolve(String(answer.statusCode)));
        answer.once('error', () => resolve('cut off'));
      },
    );
    asked.once('timeout', () => {
      resolve('no answer in time');
      asked.destroy();
    });
    asked.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    asked.end();
  });
}

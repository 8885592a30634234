// Requests at a steady rate, over connections that are kept and over new ones, with and without TLS. Every answer is counted.
import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';

export interface LoadPorts {
  readonly httpPort: number;
  readonly httpsPort: number;
}

export interface LoadOptions extends LoadPorts {
  readonly requestsPerSecond: number;
  readonly host: string;
  readonly ca: string;
  /** An answer that takes longer has failed. Default: 15 seconds. */
  readonly patienceMs?: number;
  /** Returns the last change, for the report of a failure. */
  during(): string;
}

export interface LoadClient {
  /** The number of answers so far by status. `200` is the only good one. */
  readonly answers: ReadonlyMap<string, number>;
  readonly sent: () => number;
  /** Sends every later request to other ports. */
  moveTo(ports: LoadPorts): void;
  /** Ends after the last answer. */
  stop(): Promise<LoadCount>;
}

export interface LoadCount {
  readonly requests: number;
  readonly perSecond: number;
  readonly failures: number;
  /** Sent a second time, because the connection that was kept had been closed. */
  readonly repeated: number;
  /** The longest time in which this process, and the backends in it, had no processor. */
  readonly stallMs: number;
  /** The number of failed requests, as `ERROR: COUNT`. */
  readonly failed: readonly string[];
  /** The first ten that failed, with the change at that time. */
  readonly firstFailed: readonly string[];
}

const TICK_MS = 10;

export function startLoad({
  requestsPerSecond,
  host,
  ca,
  during,
  patienceMs = 15_000,
  ...first
}: LoadOptions): LoadClient {
  let { httpPort, httpsPort }: LoadPorts = first;
  const answers = new Map<string, number>();
  const pending = new Set<Promise<void>>();
  const kept = {
    http: new HttpAgent({ keepAlive: true, maxSockets: 8 }),
    https: new HttpsAgent({ keepAlive: true, maxSockets: 8, ca, servername: host }),
  };
  let sent = 0;
  let repeated = 0;
  const firstFailed: string[] = [];
  const one = (index: number): Promise<void> => {
    const isSecure = index % 2 === 1;
    const isKept = index % 4 < 2;
    const common = { host: '127.0.0.1', path: '/', headers: { host }, timeout: patienceMs };
    return new Promise((resolve) => {
      const began = during();
      const count = (what: string) => {
        if (what !== '200' && firstFailed.length < 10)
          firstFailed.push(`${what}, sent during ${began}, ended during ${during()}`);
        answers.set(what, (answers.get(what) ?? 0) + 1);
        resolve();
      };
      const kind = `${isSecure ? 'https' : 'http'}, ${isKept ? 'kept' : 'new'} connection`;
      const request = isSecure
        ? requestHttps({
            ...common,
            port: httpsPort,
            ca,
            servername: host,
            agent: isKept ? kept.https : false,
          })
        : requestHttp({ ...common, port: httpPort, agent: isKept ? kept.http : false });
      request.on('response', (response) => {
        let body = '';
        response.on('data', (chunk) => (body += String(chunk)));
        response.on('end', () =>
          count(response.statusCode === 200 ? '200' : `${response.statusCode} ${body} (${kind})`),
        );
        response.on('error', (error) => count(`${error.message} in an answer (${kind})`));
      });
      request.on('timeout', () => request.destroy(new Error(`no answer in ${patienceMs / 1000} s`)));
      request.on('error', (error) => {
        // Both sides may close a connection that is kept: a client that finds it closed sends again, as browsers and proxies do.
        const isRace = request.reusedSocket && 'code' in error && error.code === 'ECONNRESET';
        if (!isRace) {
          count(`${error.message} (${kind})`);
          return;
        }
        repeated += 1;
        resolve(one(index));
      });
      request.end();
    });
  };
  const began = performance.now();
  let stallMs = 0;
  let tickedAt = began;
  const timer = setInterval(() => {
    stallMs = Math.max(stallMs, performance.now() - tickedAt - TICK_MS);
    tickedAt = performance.now();
    const due = Math.floor(((performance.now() - began) / 1000) * requestsPerSecond);
    for (; sent < due; sent += 1) {
      const answer = one(sent).finally(() => pending.delete(answer));
      pending.add(answer);
    }
  }, TICK_MS);
  return {
    answers,
    sent: () => sent,
    moveTo(ports) {
      ({ httpPort, httpsPort } = ports);
    },
    async stop() {
      clearInterval(timer);
      const seconds = (performance.now() - began) / 1000;
      await Promise.all(pending);
      kept.http.destroy();
      kept.https.destroy();
      const failed = [...answers].filter(([what]) => what !== '200');
      return {
        requests: sent,
        repeated,
        stallMs: Math.round(stallMs),
        perSecond: sent / seconds,
        failures: failed.reduce((sum, [, count]) => sum + count, 0),
        firstFailed,
        failed: failed.map(([what, count]) => `${what}: ${count}`),
      };
    },
  };
}

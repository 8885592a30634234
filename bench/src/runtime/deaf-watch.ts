// The time until a watch is noticed whose connection is open and delivers nothing, and the cost of this check while all is well. The
// sockets are real: a client, a proxy that stops forwarding, and the embedded API server.
import { ADMIN, createApiServer, loadBuiltins, startHttpServer } from '@capstan/apiserver';
import {
  type Clock,
  ConfigMap,
  createClient,
  createHttpTransport,
  createInformer,
  fixedCredentials,
  type Informer,
  Namespace,
  silentLogger,
  sleep,
  systemClock,
} from '@capstan/kube';
import { createRandom, startDeafProxy } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';

/** `speed`: a tiny run lets time pass faster, and its figures mean nothing. */
const SIZES = {
  full: { rounds: 3, speed: 1, watches: 300, idleMs: 60_000 },
  tiny: { rounds: 1, speed: 50, watches: 5, idleMs: 60_000 },
};
const LIMIT_MS = 60_000;

export const deafWatch: Part = {
  name: 'deaf-watch',
  summary: 'a watch that delivers nothing is noticed, and hundreds of quiet ones cost little',
  async measure(scale) {
    const { rounds, speed, watches, idleMs } = SIZES[scale];
    const clock = hastened(speed);
    const stage = await startStage(clock);
    try {
      const noticed = await Promise.all(Array.from({ length: rounds }, (_, round) => stage.noticeMs(round)));
      const idle = await stage.idle(watches, idleMs);
      return [
        result({
          name: 'deaf watch: noticed and healed',
          unit: 's',
          rounds: noticed.map((ms) => ms / 1000),
          below: LIMIT_MS / 1000,
          note: 'from the last byte that the proxy forwards to the object that was missed; wall clock',
        }),
        result({
          name: `quiet watches: requests of ${watches} in a minute`,
          unit: 'requests',
          rounds: [idle.requests],
          atMost: watches * 2,
        }),
        result({
          name: `quiet watches: processor time of ${watches}`,
          unit: '%',
          rounds: [idle.cpuShare * 100],
          note: 'of one core, client and server together in one process',
        }),
      ];
    } finally {
      await stage.stop();
    }
  },
};

async function startStage(clock: Clock) {
  const server = createApiServer({
    clock,
    random: createRandom(1),
    builtins: loadBuiltins(),
    staticTokens: [{ token: 'bench', user: ADMIN }],
  });
  const admin = createClient({ transport: server.transport(), clock });
  const http = await startHttpServer({ clusters: [{ name: 'one', server }], clock: systemClock, port: 0 });
  const proxy = await startDeafProxy(http.port);
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  const transports: { close(): Promise<void> }[] = [];
  const follow = (seed: number, namespace: string, opened: () => void = () => {}): Informer<ConfigMap> => {
    const transport = createHttpTransport({
      server: `http://127.0.0.1:${proxy.port}`,
      credentials: fixedCredentials({ headers: { authorization: 'Bearer bench' } }),
      clock,
    });
    transports.push(transport);
    const informer = createInformer({
      client: createClient({ transport, clock }),
      kind: ConfigMap,
      namespace,
      clock,
      random: createRandom(seed),
      logger: silentLogger,
      observe: { watchRestarted: opened },
    });
    running.push(informer.run(stop.signal));
    return informer;
  };
  const isOpen = async (informer: Informer<ConfigMap>) => {
    while (!informer.isSynced || informer.state().phase !== 'watching') await sleep(systemClock, 5);
  };
  return {
    async noticeMs(round: number): Promise<number> {
      const namespace = `round-${round}`;
      await admin.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      const informer = follow(round, namespace);
      await isOpen(informer);
      proxy.deafen({ only: (opening) => opening.includes(`/namespaces/${namespace}/`) });
      proxy.heal();
      const begun = clock.now();
      const metadata = { namespace, name: 'missed' };
      await admin.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
      while (informer.get(`${namespace}/missed`) === undefined && clock.now() - begun < 2 * LIMIT_MS)
        await sleep(systemClock, 5);
      return clock.now() - begun;
    },
    async idle(watches: number, ms: number): Promise<{ requests: number; cpuShare: number }> {
      let requests = 0;
      const all = Array.from({ length: watches }, (_, seed) =>
        follow(seed, `quiet-${seed}`, () => {
          requests++;
        }),
      );
      await Promise.all(all.map(isOpen));
      requests = 0;
      const cpu = process.cpuUsage();
      const begun = performance.now();
      await sleep(clock, ms);
      const { user, system } = process.cpuUsage(cpu);
      return { requests, cpuShare: (user + system) / 1000 / (performance.now() - begun) };
    },
    async stop() {
      stop.abort();
      await Promise.all(running);
      await Promise.all(transports.map((transport) => transport.close()));
      await proxy.close();
      await http.close();
      await server.close();
    },
  };
}

/** The system's clock, so many times as fast. */
function hastened(speed: number): Clock {
  if (speed === 1) return systemClock;
  const begun = systemClock.now();
  return {
    now: () => begun + (systemClock.now() - begun) * speed,
    after: (ms, call) => systemClock.after(ms / speed, call),
    yield: () => systemClock.yield(),
  };
}

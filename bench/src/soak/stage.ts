// The clusters and programs of a soak: an embedded server with three logical clusters, two replicas of all operators beside it, and
// Submariner in the two members. The objects are those of the demonstrations.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Client, connect, createClient } from '@capstan/kube';
import { type NetworkLink, startNetworkLink } from './network-link.ts';
import { freePort, type RunningProgram, startCapstan } from './programs.ts';

export interface Stage {
  /** As administrator, past all links. */
  readonly hub: Client;
  readonly members: { readonly east: Client; readonly west: Client };
  readonly server: RunningProgram;
  /** Programs that run from the beginning to the end; the server is among them. */
  readonly steady: readonly RunningProgram[];
  /** The second replica of all operators, which is killed and restarted. */
  readonly standby: RunningProgram;
  restartStandby(): Promise<void>;
  /** The links of the programs, by name. */
  readonly links: ReadonlyMap<string, NetworkLink>;
  /** All log files. */
  readonly logs: () => readonly string[];
  close(): Promise<void>;
}

const START_LIMIT_MS = 300_000;
const REGISTRY = join(import.meta.dirname, '../../../operators/crossplane/demo/prepare.ts');

export async function startStage(out: string, report: (line: string) => void, signal: AbortSignal): Promise<Stage> {
  const data = join(out, 'data');
  const logs = join(out, 'logs');
  mkdirSync(logs, { recursive: true });
  const port = await freePort();
  const kubeconfig = join(data, 'kubeconfig');
  const common = ['--data', data, '--listen', `127.0.0.1:${port}`, '--console', 'false', '--fetch', 'none'];
  const closing = new AbortController();
  const started: RunningProgram[] = [];
  const links = new Map<string, NetworkLink>();
  const clients: Client[] = [];
  const close = async () => {
    // Operators end before their server.
    for (const program of started.toReversed()) await program.end();
    for (const client of clients) await client.close();
    for (const link of links.values()) await link.close();
    closing.abort();
  };
  try {
    report('Starting the demonstrations of all operators ...');
    const demo = startCapstan({ name: 'demo', args: ['up', '--demo', ...common], logs });
    started.push(demo);
    await demo.event('ready', START_LIMIT_MS, signal);
    await demo.end();

    report('Starting the server and the operators beside it ...');
    const prepare = ((await import(pathToFileURL(REGISTRY).href)) as { default: PrepareRegistry }).default;
    await prepare({ data: join(data, 'demo', 'crossplane'), signal: closing.signal });
    const server = startCapstan({
      name: 'server',
      args: ['up', ...common, '--operators', ',', '--clusters', 'capstan,east,west'],
      logs,
    });
    started.push(server);
    await server.event('ready', START_LIMIT_MS, signal);

    const open = async (context: string) => {
      const client = createClient({ transport: await connect({ kubeconfig, context, inCluster: false }) });
      clients.push(client);
      return client;
    };
    const run = async (name: string, args: readonly string[]) => {
      const link = links.get(name) ?? (await startNetworkLink(port));
      links.set(name, link);
      const file = join(out, `${name}.kubeconfig`);
      writeFileSync(file, readFileSync(kubeconfig, 'utf8').replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${link.port}`), {
        mode: 0o600,
      });
      const metrics = await freePort();
      const program = startCapstan({
        name,
        args: ['run', '--kubeconfig', file, '--metrics-address', `127.0.0.1:${metrics}`, ...args],
        logs,
        metrics: `http://127.0.0.1:${metrics}/metrics`,
      });
      started.push(program);
      await program.event('ready', START_LIMIT_MS, signal);
      return program;
    };
    const member = (name: string) => run(name, ['--context', name, '--operators', 'submariner']);
    const [operators, east, west] = await Promise.all([run('operators', []), member('east'), member('west')]);
    let standby = await run('standby', []);
    return {
      hub: await open('capstan'),
      members: { east: await open('east'), west: await open('west') },
      server,
      steady: [server, operators, east, west],
      get standby() {
        return standby;
      },
      async restartStandby() {
        started.splice(started.indexOf(standby), 1);
        standby = await run('standby', []);
      },
      links,
      logs: () => [...new Set(started.map(({ log }) => log))],
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

type PrepareRegistry = (context: { data: string; signal: AbortSignal }) => Promise<unknown>;

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext } from 'node:test';
import { createApiServer } from '@capstan/apiserver';
import {
  type Client,
  type Container,
  createClient,
  Node,
  Pod,
  type PodSpec,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { createRandom } from '@capstan/testing';
import { createControllers } from '../controllers.ts';
import type { KnownImage } from '../images/image-table.ts';
import { createNode, type LocalNode } from '../node/local-node.ts';

// These tests run real processes on addresses of the loopback network, which Linux has without being asked.
export const skip =
  process.platform === 'linux' ? false : 'needs the loopback addresses 127.64.0.0/11: run it on Linux';

export const NAMESPACE = 'default';

/** A web server that returns the requested value: a file, a variable, its process id. */
const SERVER = `
  const { createServer } = require('node:http');
  const { readFileSync } = require('node:fs');
  console.log('begin', ...process.argv.slice(1));
  process.on('SIGTERM', () => { console.log('asked to stop'); process.exit(0); });
  createServer((request, response) => {
    const url = new URL(request.url, 'http://x');
    const file = url.searchParams.get('file');
    const name = url.searchParams.get('env');
    if (url.pathname === '/crash') process.exit(3);
    if (url.pathname === '/sick') globalThis.sick = true;
    if (url.pathname === '/health' && globalThis.sick) response.statusCode = 500;
    response.end(file ? readFileSync(file, 'utf8') : name ? process.env[name] : String(process.pid));
  }).listen(8080, process.env.POD_IP);
`;

const images: KnownImage[] = [
  { match: 'test/server', entrypoint: [process.execPath, '-e', SERVER] },
  { match: 'test/mapped', entrypoint: [process.execPath, '-e', SERVER], substituteInFiles: true },
  { match: 'test/node', entrypoint: [process.execPath, '-e'], programs: { node: [process.execPath] } },
];

interface Place {
  client: Client;
  node: LocalNode;
  dataDir: string;
  /** Stops the node and starts another on the same folder. */
  restart(): Promise<void>;
}

export async function createPlace(t: TestContext): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'capstan-node-'));
  const clock = systemClock;
  const random = createRandom(process.pid);
  const serviceAccountKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const server = createApiServer({ clock, random, serviceAccountKey });
  const client = createClient({ transport: server.transport(), clock, random, logger: silentLogger });
  const common = { client, clock, random, logger: silentLogger };
  const control = new AbortController();
  const controlling = createControllers({ ...common, rootCertificate: 'the root' }).run(control.signal);
  const start = () => {
    const abort = new AbortController();
    const node = createNode({ ...common, images, dataDir });
    return { node, abort, running: node.run(abort.signal) };
  };
  let current = start();
  const stop = async () => {
    current.abort.abort();
    await current.running;
  };
  t.after(async () => {
    await stop();
    control.abort();
    await controlling;
    await server.close();
    await rm(dataDir, { recursive: true });
  });
  await until(async () => (await client.find(Node, { name: 'capstan' })) !== undefined);
  return {
    client,
    dataDir,
    get node() {
      return current.node;
    },
    async restart() {
      await stop();
      current = start();
    },
  };
}

export async function until(isSo: () => Promise<boolean>, what = 'it'): Promise<void> {
  for (const began = Date.now(); Date.now() - began < 20_000; ) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${what} was not reached in time`);
}

export function pod(name: string, container: Partial<Container>, spec: Partial<PodSpec> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, labels: { app: name } },
    spec: { containers: [{ name: 'main', image: 'test/server:1', ...container }], ...spec },
  };
}

export const at = (name: string) => ({ namespace: NAMESPACE, name });

export async function ready(client: Client, name: string): Promise<Pod> {
  let found: Pod | undefined;
  await until(async () => {
    found = await client.find(Pod, at(name));
    return found?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  }, `readiness of ${name}`);
  assert.ok(found);
  return found;
}

export async function ask(address: string | undefined, path = '/'): Promise<string> {
  const response = await fetch(`http://${address}:8080${path}`);
  return response.text();
}

export async function logsOf(
  { node }: Place,
  name: string,
  options: Parameters<LocalNode['logs']>[3] = {},
): Promise<string> {
  let text = '';
  for await (const piece of await node.logs(NAMESPACE, name, undefined, options)) text += piece;
  return text;
}

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext } from 'node:test';
import { answer, type Handler, startServer } from '../http/local-server.ts';
import { type ConnectOptions, connect } from './connect.ts';

export const get = { method: 'GET', path: '/api' } as const;

export interface Entry {
  server?: string;
  cluster?: Record<string, unknown>;
  user?: Record<string, unknown>;
  name?: string;
}

/** JSON is YAML. */
export function kubeconfig({ server = 'http://127.0.0.1:1', cluster = {}, user = {}, name = 'main' }: Entry): string {
  return JSON.stringify({
    'current-context': name,
    clusters: [{ name, cluster: { server, ...cluster } }],
    users: [{ name: 'me', user }],
    contexts: [{ name, context: { cluster: name, user: 'me', namespace: `ns-${name}` } }],
  });
}

export async function serve(t: TestContext, handler: Handler) {
  const server = await startServer(handler);
  t.after(() => server.close());
  return server;
}

export async function open(t: TestContext, options: ConnectOptions) {
  const connection = await connect(options);
  t.after(() => connection.close());
  return connection;
}

export const now = Date.UTC(2026, 0, 1);

/** Creates an exec plugin in its own folder, with a kubeconfig that names it by a relative path. */
export async function plugin(t: TestContext, script: string, exec: Record<string, unknown> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'exec-plugin-'));
  t.after(() => rm(folder, { recursive: true }));
  const { address: server } = await serve(t, (request, response) => {
    const isAccepted = request.headers.authorization !== 'Bearer token-1-refused';
    answer(response, { login: request.headers.authorization }, isAccepted ? 200 : 401);
  });
  await writeFile(join(folder, 'login'), `#!${process.execPath}\nconst fs = require('node:fs');\n${script}\n`);
  await chmod(join(folder, 'login'), 0o755);
  const path = join(folder, 'config');
  const entry = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './login',
    interactiveMode: 'Never',
    ...exec,
  };
  await writeFile(path, kubeconfig({ server, user: { exec: entry } }));
  return { path, folder, server };
}

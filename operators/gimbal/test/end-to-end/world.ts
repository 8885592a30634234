// The actions and checks of the end-to-end tests, on any clusters: the hub where Gimbal runs, and the remote ones behind it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Client, EndpointSlice, externalKind, Secret, Service, systemClock } from '@capstan/kube';
import { DiscoveryBackend } from '../../src/index.ts';

export interface World {
  /** An administrator's clients. */
  readonly hub: Client;
  readonly east: Client;
  /** The administrator's, of the hub: a file. */
  readonly kubeconfig: string;
  /** The content of the kubeconfig of east's reading account. */
  readonly eastKubeconfig: string;
  /** A kubeconfig that leads to east, with the same token, to west. */
  towardsWest(kubeconfig: string): string;
}

/** A world that was started; `stop` leaves nothing of it. */
export interface StartedWorld {
  readonly world: World;
  stop(): Promise<void>;
}

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
export const FLAGS = ['--disable-warning=ExperimentalWarning'];
export const NAMESPACE = 'gimbal-discovery';
const PATIENCE_MS = 45_000;
const HTTPProxy = externalKind({
  group: 'projectcontour.io',
  version: 'v1',
  kind: 'HTTPProxy',
  plural: 'httpproxies',
  scope: 'Namespaced',
});

export function withToken(kubeconfig: string, token: string): string {
  return kubeconfig.replace(/"token":"[^"]*"/, `"token":${JSON.stringify(token)}`);
}

/** The program `gimbal`, run to its end. */
export function gimbal({ kubeconfig }: World, ...argv: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const args = [...FLAGS, 'apps/capstan/src/programs/gimbal.mjs', ...argv, '--kubeconfig', kubeconfig];
    execFile(process.execPath, args, { cwd: ROOT, timeout: 90_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, output: stdout + stderr });
    });
  });
}

/** Looks again until it is so. */
export async function until(check: () => Promise<void>): Promise<void> {
  const deadline = systemClock.now() + PATIENCE_MS;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (systemClock.now() > deadline) throw error;
    }
    await pause(50);
  }
}

export async function services({ hub }: World): Promise<string[]> {
  const { items } = await hub.list(Service, { namespace: 'shop' });
  return items.map(({ metadata }) => metadata.name ?? '').toSorted();
}

export async function addresses({ hub }: World, service: string): Promise<string[]> {
  const { items } = await hub.list(EndpointSlice, {
    namespace: 'shop',
    labelSelector: `kubernetes.io/service-name=${service}`,
  });
  return items.flatMap(({ endpoints }) => (endpoints ?? []).flatMap((endpoint) => endpoint.addresses)).toSorted();
}

export async function setAddresses({ east }: World, wanted: readonly string[]): Promise<void> {
  const endpoints = wanted.map((address) => ({ addresses: [address], conditions: { ready: true } }));
  await east.patch(EndpointSlice, { namespace: 'shop', name: 'web-1' }, 'merge', { endpoints });
}

export async function weights({ hub }: World, name: string): Promise<(number | undefined)[]> {
  const { spec } = (await hub.get(HTTPProxy, { namespace: 'shop', name })) as unknown as {
    spec: { routes: { services: { weight?: number }[] }[] };
  };
  return spec.routes.flatMap((route) => route.services.map(({ weight }) => weight));
}

export async function phases({ hub }: World): Promise<Record<string, string | undefined>> {
  const { items } = await hub.list(DiscoveryBackend, {});
  return Object.fromEntries(items.map(({ metadata, status }) => [metadata.name ?? '', status?.phase]));
}

/** A Secret with a token that ends with an object of the remote cluster, so that it can be revoked alone. */
export async function boundSecret(world: World, name: string): Promise<void> {
  const bound = { namespace: NAMESPACE, name: `token-of-${name}` };
  const { uid } = (await world.east.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: bound })).metadata;
  const { body } = await world.east.request({
    method: 'POST',
    path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/gimbal-discoverer/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3600, boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: bound.name, uid } },
    },
  });
  const { token } = (body as { status: { token: string } }).status;
  await makeSecret(world, name, withToken(world.eastKubeconfig, token));
}

export async function makeSecret({ hub }: World, name: string, text: string): Promise<void> {
  const data = { config: Buffer.from(text).toString('base64') };
  await hub.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: NAMESPACE, name }, data });
}

export async function kubeconfigIn({ hub }: World, secret: string): Promise<string> {
  const { data = {} } = await hub.get(Secret, { namespace: NAMESPACE, name: secret });
  return Buffer.from(data['config'] ?? '', 'base64').toString('utf8');
}

/** Ends a token that was bound; resolves when the server, which may remember it for some seconds, does not take it any more. */
export async function revoke(world: World, name: string): Promise<void> {
  const { east } = world;
  await east.delete(Secret, { namespace: NAMESPACE, name: `token-of-${name}` });
  const [, token = ''] = /"token":"([^"]*)"/.exec(await kubeconfigIn(world, name)) ?? [];
  await until(async () => {
    const { body } = await east.request({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
    });
    assert.notEqual((body as { status: { authenticated?: boolean } }).status.authenticated, true);
  });
}

// A backend called east, the remote cluster behind it as far as logins go, and the moves that others make in a real cluster:
// the controller that rolls Deployments out, and the discoverer that reports.
import assert from 'node:assert/strict';

import { Deployment, type Pod, Secret, type Service } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { shortHash } from '../../src/credentials/hash.ts';
import { LoginError, type Verify } from '../../src/credentials/verifier.ts';
import { BACKEND_LABEL, DiscoveryBackend } from '../../src/index.ts';
import { createGimbal } from '../../src/operator.ts';

export const NAMESPACE = 'default';
export const ref = (name: string) => ({ namespace: NAMESPACE, name });
export const DEPLOYMENT = ref('east-kubernetes-discoverer');

/** Who may log in where. A Secret holds `CLUSTER TOKEN`. */
export interface Remote {
  readonly accepted: Set<string>;
  isDown: boolean;
  /** `CLUSTER TOKEN` of each login, and the address that was used instead, if any. */
  readonly logins: string[];
}

export function createRemote(...accepted: string[]): { remote: Remote; verify: Verify } {
  const remote: Remote = { accepted: new Set(accepted), isDown: false, logins: [] };
  const verify: Verify = async ({ data, endpoint }) => {
    const text = Buffer.from(Object.values(data)[0] ?? '', 'base64').toString('utf8');
    remote.logins.push(endpoint === undefined ? text : `${text} at ${endpoint}`);
    const [cluster = '', token = ''] = text.split(' ');
    if (token === '') return { isGood: false, message: 'it is no kubeconfig' };
    if (remote.isDown) throw new LoginError('Unreachable', 'no answer within 10 s');
    if (!remote.accepted.has(text)) throw new LoginError('AuthFailed', 'the remote cluster answered 401 Unauthorized');
    return { isGood: true, identity: `uid-of-${cluster}` };
  };
  return { remote, verify };
}

/** Tokens are distinguished from everything else, so that a leak is seen. */
export const FIRST = 'A s3cr3t-first';
export const SECOND = 'A s3cr3t-second';
export const THIRD = 'A s3cr3t-third';
export const ELSEWHERE = 'B s3cr3t-elsewhere';

export interface Played extends Stage {
  readonly remote: Remote;
  readonly reported: string[];
  backend(name?: string): Promise<DiscoveryBackend>;
  conditions(...types: string[]): Promise<(string | undefined)[]>;
  message(type: string): Promise<string>;
  errors(): Promise<string[]>;
  edit(spec: object): Promise<void>;
  annotate(annotations: Record<string, string>): Promise<void>;
  secret(name: string, text: string, more?: Record<string, string>): Promise<void>;
  deployment(): Promise<Deployment | undefined>;
  /** The names of all copies, in order. */
  copies(): Promise<string[]>;
  /** The text in the copy that the Deployment mounts. */
  mounted(): Promise<string>;
  /** The Deployment's pods are as it asks for, and ready. */
  rollOut(): Promise<void>;
  /** The discoverer with the credentials that are mounted reports. */
  report(discovery?: object): Promise<void>;
}

export interface Scene {
  /** In the Secret east-kubecfg; undefined: there is none. */
  secret?: string | undefined;
  accepted?: string[];
  spec?: object;
  given?: (stage: Stage['client']) => Promise<void>;
  writeEndpoints?: boolean;
  isDown?: boolean;
}

/** Runs a check on a settled cluster with the backend east. */
export async function played(scene: Scene, check: (stage: Played) => Promise<void>): Promise<void> {
  const { accepted = [FIRST, SECOND, THIRD, ELSEWHERE], spec = {} } = scene;
  const { remote, verify } = createRemote(...accepted);
  remote.isDown = scene.isDown ?? false;
  const reported: string[] = [];
  const stage = await createStage({
    operators: [createGimbal({ verify, ...(scene.writeEndpoints && { writeEndpoints: true }) })],
    // Mirrors that a test creates stand for those of the discoverer, another program of the operator.
    ...(scene.given && { ruled: '0034: another program of the operator created it' }),
    runtime: { notify: (_world, _operator, _owner, { reason }) => void reported.push(reason) },
    async given(client) {
      await scene.given?.(client);
      const text = 'secret' in scene ? scene.secret : FIRST;
      if (text !== undefined) await client.create(Secret, secretOf('east-kubecfg', text));
      await client.create(DiscoveryBackend, backendOf('east', spec));
    },
  });
  try {
    await check(Object.assign(Object.create(stage) as Stage, movesOn(stage), { remote, reported }));
  } finally {
    await stage.end();
  }
}

export function backendOf(name: string, spec: object = {}, namespace = NAMESPACE): DiscoveryBackend {
  return {
    apiVersion: DiscoveryBackend.apiVersion,
    kind: 'DiscoveryBackend',
    metadata: { namespace, name },
    spec: { type: 'kubernetes', secret: `${name}-kubecfg`, ...spec },
  };
}

export function secretOf(name: string, text: string, more: Record<string, string> = {}, namespace = NAMESPACE): Secret {
  const encoded = Object.entries({ config: text, ...more }).map(([key, value]) => [
    key,
    Buffer.from(value).toString('base64'),
  ]);
  const data = Object.fromEntries(encoded) as Record<string, string>;
  return { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, type: 'Opaque', data };
}

/** A Service as a discoverer makes it, or a person who took its label. */
export function mirror(name: string, isDiscovered = true, backend = 'east'): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      ...ref(name),
      labels: { [BACKEND_LABEL]: backend },
      ...(isDiscovered && { annotations: { 'gimbal.heptio.com/mirror': '{}' } }),
    },
    spec: { clusterIP: 'None', ports: [{ port: 80 }] },
  };
}

function movesOn(stage: Stage) {
  const { client } = stage;
  const backend = (name = 'east') => client.get(DiscoveryBackend, ref(name));
  const conditionOf = async (type: string) =>
    (await backend()).status?.conditions?.find((one) => one.type === type) as
      | { status: string; reason: string; message: string }
      | undefined;
  const deployment = () => client.find(Deployment, DEPLOYMENT);
  /** Credentials that change are checked when they have been the same for a while. */
  const settled = async () => {
    await stage.settle();
    // A real server may be seconds ahead: its time goes on while the test's stands still, and the backend was created by it.
    const ahead = Date.parse((await backend()).metadata.creationTimestamp ?? '') - stage.clock.now();
    await stage.clock.advance(Math.max(0, ahead) + 4_000);
    await stage.settle();
  };
  const moves = {
    backend,
    async conditions(...types: string[]) {
      const found = await Promise.all(types.map(conditionOf));
      return found.map((one) => one && `${one.status} ${one.reason}`);
    },
    message: async (type: string) => (await conditionOf(type))?.message ?? '',
    errors: async () => (await backend()).status?.errors?.map(({ type }) => type) ?? [],
    async edit(spec: object) {
      await client.patch(DiscoveryBackend, ref('east'), 'merge', { spec });
      await settled();
    },
    async annotate(annotations: Record<string, string>) {
      await client.patch(DiscoveryBackend, ref('east'), 'merge', { metadata: { annotations } });
      await settled();
    },
    async secret(name: string, text: string, more: Record<string, string> = {}) {
      const wanted = secretOf(name, text, more);
      const there = await client.find(Secret, ref(name));
      if (there === undefined) await client.create(Secret, wanted);
      else await client.update(Secret, { ...there, data: wanted.data ?? {} });
      await settled();
    },
    deployment,
    async copies() {
      const { items } = await client.list(Secret, { namespace: NAMESPACE, labelSelector: 'cluster=east' });
      return items.map(({ metadata }) => metadata.name ?? '').toSorted();
    },
    async mounted() {
      const name = (await deployment())?.spec?.template.spec?.volumes?.[0]?.secret?.secretName ?? '';
      const { data = {} } = await client.get(Secret, ref(name));
      return Buffer.from(data['config'] ?? '', 'base64').toString('utf8');
    },
    async rollOut() {
      const there = await deployment();
      assert.ok(there, 'there is no Deployment to roll out');
      const status = {
        observedGeneration: there.metadata.generation,
        replicas: 1,
        updatedReplicas: 1,
        readyReplicas: 1,
        availableReplicas: 1,
      };
      await client.patch(Deployment, DEPLOYMENT, 'merge', { status }, { subresource: 'status' });
      await stage.settle();
    },
    async report(discovery: object = {}) {
      const { credentials } = (await backend()).status ?? {};
      const status = {
        discovery: {
          synced: true,
          lastSync: '2026-01-01T00:00:00Z',
          version: 'test',
          credentials: shortHash(credentials?.hash ?? ''),
          counts: { upstreamServices: 3, replicatedServices: 2, invalidServices: 1 },
          ...discovery,
        },
      };
      const object = {
        apiVersion: DiscoveryBackend.apiVersion,
        kind: 'DiscoveryBackend',
        metadata: ref('east'),
        status,
      };
      const how = { fieldManager: 'gimbal-discoverer', force: true, subresource: 'status' } as const;
      await client.apply(DiscoveryBackend, object, how);
      await stage.settle();
    },
  };
  return moves;
}

/** Writes of the program since the last clear, as `PATCH deployments/name`. */
export function writesTo({ transport }: Pick<Stage, 'transport'>, plural: string): string[] {
  return transport.writes.filter((line) => line.includes(`/${plural}/`) || line.endsWith(`/${plural}`));
}

export function podOf(name: string, status: object): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...ref(name), labels: { app: 'kubernetes-discoverer', cluster: 'east' } },
    spec: { serviceAccountName: DEPLOYMENT.name, containers: [{ name: 'discoverer', image: 'capstan:test' }] },
    status,
  };
}

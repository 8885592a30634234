// Rules of a soak that do not depend on one area: no program ends, no guarded object is replaced, no log has a secret, and a settled world
// is not written to.
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Client,
  ConfigMap,
  CoreEvent,
  DaemonSet,
  Deployment,
  discover,
  type Kind,
  keyOfObject,
  Lease,
  Service,
} from '@capstan/kube';

/** Objects that are wanted all the time, by kind, namespace and name. */
const GUARDED: readonly (readonly [Kind, string, string])[] = [
  [Deployment, 'default', 'my-proxy'],
  [Deployment, 'default', 'renewed'],
  [Deployment, 'default', 'sesame-edge'],
  [DaemonSet, 'default', 'envoy-edge'],
  [Service, 'default', 'envoy-edge'],
  [Service, 'default', 'sesame-edge'],
  [Service, 'default', 'orders-inside-bootstrap'],
  [Deployment, 'gimbal-discovery', 'east-kubernetes-discoverer'],
  [Deployment, 'gimbal-discovery', 'west-kubernetes-discoverer'],
  [Service, 'shop', 'east-web'],
  [Service, 'shop', 'west-web'],
];

/** Checks that objects which are wanted all the time are never deleted or replaced. */
export function guardObjects(client: Client): () => Promise<readonly string[]> {
  const uids = new Map<string, string>();
  return async () => {
    const problems: string[] = [];
    for (const [kind, namespace, name] of GUARDED) {
      const id = `${kind.kind} ${namespace}/${name}`;
      const uid = (await client.find(kind, { namespace, name }))?.metadata.uid;
      const before = uids.get(id);
      if (uid === undefined ? before !== undefined : before !== undefined && before !== uid)
        problems.push(`${id} was ${uid === undefined ? 'deleted' : 'replaced'}`);
      if (uid !== undefined) uids.set(id, uid);
    }
    return problems;
  };
}

/** Searches the new parts of logs for secret texts. */
export function searchLogs(canaries: () => readonly string[]): (files: readonly string[]) => readonly string[] {
  const read = new Map<string, number>();
  return (files) =>
    files.flatMap((file) => {
      if (!existsSync(file)) return [];
      const handle = openSync(file, 'r');
      try {
        const { size } = fstatSync(handle);
        const from = read.get(file) ?? 0;
        // A secret may lie over the end of the part that was read before.
        const start = Math.max(0, from - 200);
        const bytes = Buffer.alloc(size - start);
        readSync(handle, bytes, 0, bytes.length, start);
        read.set(file, size);
        const text = bytes.toString('latin1');
        return canaries().some((canary) => text.includes(canary)) ? [`${file} contains a secret`] : [];
      } finally {
        closeSync(handle);
      }
    });
}

/** Kinds that change without an operator: heartbeats and Events. */
const RESTLESS = new Set([Lease.kind, CoreEvent.kind, 'Node']);
const QUIET_MS = 4000;

/** Returns the objects that were written while nothing was edited. */
export async function writesAtRest(client: Client): Promise<readonly string[]> {
  const { kinds } = await discover(client);
  const versions = async () => {
    const found = new Map<string, string>();
    for (const kind of kinds) {
      if (RESTLESS.has(kind.kind) || !kind.verbs.includes('list')) continue;
      for await (const { items } of client.pages(kind, { metadataOnly: true }))
        for (const object of items)
          found.set(`${kind.kind} ${keyOfObject(object)}`, object.metadata.resourceVersion ?? '');
    }
    return found;
  };
  const before = await versions();
  await sleep(QUIET_MS);
  const after = await versions();
  return [...after].filter(([id, version]) => before.get(id) !== version).map(([id]) => `${id} was written at rest`);
}

/** Applies an object; returns the milliseconds until the answer. */
export async function answerTime(client: Client): Promise<number> {
  const begun = performance.now();
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name: 'soak-probe' },
    data: {},
  };
  // The content is always the same, so that the probe is no write at rest.
  await client.apply(ConfigMap, object, { fieldManager: 'soak', force: true });
  return performance.now() - begun;
}

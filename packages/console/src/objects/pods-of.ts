// The pods of an object: those that an owner reference leads to, from the object itself or from a workload that its plans write.
import { type KubeObject, keyOfObject, kindId, Pod, podProblem } from '@capstan/kube';
import { formatObjectId, type ObjectId, type Runtime } from '@capstan/reconcile';
import type { PodAnswer } from '../api-types.ts';

/** A Deployment owns pods by way of a ReplicaSet, other workloads by one object more at most. */
const MAX_STEPS = 3;
const MAX_PODS = 50;
const ORDER: Readonly<Record<PodAnswer['state'], number>> = { broken: 0, progress: 1, ready: 2 };
/** Pods that an embedded cluster does not run carry this annotation. */
const SIMULATED = 'capstan.dev/simulated';

/** At most 50, those with problems first; empty where no pods are cached. */
export function podsOf(
  { worlds }: Pick<Runtime, 'worlds'>,
  id: ObjectId,
  written: readonly ObjectId[],
): readonly PodAnswer[] {
  const world = worlds.get(id.world);
  const kind = world?.kinds.find((one) => kindId(one) === kindId(Pod));
  if (world === undefined || kind === undefined) return [];
  const targets = new Set([id, ...written].filter((one) => one.world === id.world).map(formatObjectId));
  const find = (owner: ObjectId): KubeObject | undefined => {
    const owned = world.kinds.find((one) => kindId(one) === owner.kind);
    return owned && world.readTable(owned)?.peek(owner.key);
  };
  const known = new Map<string, boolean>();
  const leads = (object: KubeObject, steps: number): boolean =>
    ownersOf(object, id.world).some((owner) => {
      const name = formatObjectId(owner);
      if (targets.has(name)) return true;
      let found = known.get(name);
      if (found === undefined) {
        const next = steps > 1 ? find(owner) : undefined;
        found = next !== undefined && leads(next, steps - 1);
        known.set(name, found);
      }
      return found;
    });
  const found: PodAnswer[] = [];
  for (const object of world.peek(kind)) if (leads(object, MAX_STEPS)) found.push(answerOf(object, id.world));
  return found.toSorted((a, b) => ORDER[a.state] - ORDER[b.state] || (a.key < b.key ? -1 : 1)).slice(0, MAX_PODS);
}

function ownersOf({ metadata }: KubeObject, world: string): ObjectId[] {
  const { namespace = '', ownerReferences = [] } = metadata;
  return ownerReferences.map(({ apiVersion, kind, name }) => {
    const group = apiVersion.includes('/') ? `.${apiVersion.slice(0, apiVersion.indexOf('/'))}` : '';
    return { world, kind: `${kind}${group}`, key: namespace === '' ? name : `${namespace}/${name}` };
  });
}

function answerOf(pod: Pod, world: string): PodAnswer {
  const { metadata, status, spec } = pod;
  const place = { world, kind: kindId(Pod), key: keyOfObject(pod) };
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const problem = podProblem(pod)?.message;
  const owner = metadata.ownerReferences?.[0];
  const isLeaving = metadata.deletionTimestamp !== undefined;
  const state = problem !== undefined ? 'broken' : ready?.status === 'True' && !isLeaving ? 'ready' : 'progress';
  const text = isLeaving ? 'is being deleted' : state === 'ready' ? 'serves' : (ready?.reason ?? status?.phase ?? '');
  return {
    id: formatObjectId(place),
    ...place,
    state,
    message: problem ?? text,
    ...(owner !== undefined && { owner: `${owner.kind} ${owner.name}` }),
    ...(spec?.nodeName !== undefined && { node: spec.nodeName }),
    ...(ready?.lastTransitionTime != null && { since: ready.lastTransitionTime }),
    ...(metadata.annotations?.[SIMULATED] === 'true' && { isSimulated: true }),
  };
}

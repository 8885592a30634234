// The former templates of a DaemonSet, as ControllerRevisions: `kubectl rollout history` shows them, and `undo` returns to one of them.
import {
  ControllerRevision,
  canonicalJson,
  compileLabelSelector,
  DaemonSet,
  isAlreadyExists,
  type Pod,
} from '@capstan/kube';
import { claim, controllerReference, type Ownership } from '../controller/ownership.ts';
import type { Toolkit } from '../controller/toolkit.ts';
import { templateHash } from '../deployment/template.ts';
import { HASH_LABEL } from './daemon-pod.ts';

const DEFAULT_HISTORY = 10;
const CHANGE_CAUSE = 'kubernetes.io/change-cause';

export interface History {
  /** The hash of the present template. */
  hash: string;
  all: readonly ControllerRevision[];
}

/** The revisions with the present one among them, as the newest. */
export async function recordRevision(
  tools: Toolkit,
  revisions: Ownership<ControllerRevision>,
  set: DaemonSet,
): Promise<History> {
  const selector = compileLabelSelector(set.spec?.selector);
  const all = await claim(tools, ControllerRevision, revisions, set, selector);
  const hash = templateHash(set.spec?.template, set.status?.collisionCount);
  const data = { spec: { template: { ...set.spec?.template, $patch: 'replace' } } };
  const text = canonicalJson(data);
  const present = all.find((one) => canonicalJson(one.data) === text);
  const others = all.filter((one) => one !== present);
  const revision = Math.max(0, ...others.map((one) => one.revision)) + 1;
  if (present === undefined) return { hash, all: [...all, await create(revision)] };
  const current = present.revision >= revision ? present : await renew(present, revision);
  return { hash: current.metadata.labels?.[HASH_LABEL] ?? hash, all: [...others, current] };

  async function create(number: number): Promise<ControllerRevision> {
    const { name = '', namespace, annotations } = set.metadata;
    const cause = annotations?.[CHANGE_CAUSE];
    const wanted: ControllerRevision = {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: {
        name: `${name}-${hash}`,
        ...(namespace === undefined ? {} : { namespace }),
        labels: { ...set.spec?.template.metadata?.labels, [HASH_LABEL]: hash },
        ...(cause === undefined ? {} : { annotations: { [CHANGE_CAUSE]: cause } }),
        ownerReferences: [controllerReference(set)],
      },
      // Kubernetes' own tools compare the text, whose keys are in order.
      data: JSON.parse(text) as typeof data,
      revision: number,
    };
    try {
      return await tools.write.create(ControllerRevision, wanted);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const found = await tools.client.get(ControllerRevision, { name: `${name}-${hash}`, namespace: namespace ?? '' });
      if (canonicalJson(found.data) === text) return found;
      // Another template with the same hash: count it, and the next try has another name.
      await tools.client.patch(
        DaemonSet,
        { name, namespace: namespace ?? '' },
        'merge',
        { status: { collisionCount: (set.status?.collisionCount ?? 0) + 1 } },
        { subresource: 'status' },
      );
      throw error;
    }
  }

  function renew(one: ControllerRevision, number: number): Promise<ControllerRevision> {
    return tools.write.update(ControllerRevision, { ...one, revision: number });
  }
}

/** Deletes the oldest revisions beyond the limit, except those of which there still are pods. */
export async function dropRevisions(
  tools: Toolkit,
  set: DaemonSet,
  { all, hash }: History,
  pods: readonly Pod[],
): Promise<void> {
  const used = new Set([hash, ...pods.map(({ metadata }) => metadata.labels?.[HASH_LABEL])]);
  const old = all.filter(({ metadata }) => !used.has(metadata.labels?.[HASH_LABEL]));
  const limit = set.spec?.revisionHistoryLimit ?? DEFAULT_HISTORY;
  const surplus = old.toSorted((a, b) => a.revision - b.revision).slice(0, Math.max(0, old.length - limit));
  for (const one of surplus) await tools.write.remove(ControllerRevision, one);
}

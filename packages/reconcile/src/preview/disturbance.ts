// The effect of a write on running things, beyond changing an object.
import { equal, type Kind, type KubeObject, kindId } from '@capstan/kube/cluster';
import { templateMark } from '../diff/child-body.ts';
import type { ChildWrite } from '../diff/index.ts';

const WORKLOADS = new Set(['Deployment.apps', 'DaemonSet.apps', 'StatefulSet.apps', 'ReplicaSet.apps']);

/** `rolls pods`, `starts pods`, `stops pods`, or undefined when nothing that runs is touched. */
export function disturbanceOf(
  write: ChildWrite | { readonly verb: 'delete'; readonly kind: Kind },
  existing: KubeObject | undefined,
  next: KubeObject | undefined,
): string | undefined {
  if (!WORKLOADS.has(kindId(write.kind))) return undefined;
  const [before, after] = [replicasOf(existing), replicasOf(next)];
  if (write.verb === 'delete') return before === 0 ? undefined : 'stops pods';
  if (next === undefined || next === existing) return undefined;
  if (before === 0) return after === 0 ? undefined : 'starts pods';
  if (after === 0) return 'stops pods';
  if (!hasSameTemplate(write, existing, next)) return 'rolls pods';
  if (after < before) return 'stops pods';
  return after > before ? 'starts pods' : undefined;
}

/** A workload that is not there has none. One that does not name a number has one, and a DaemonSet at least one. */
function replicasOf(object: KubeObject | undefined): number {
  if (object === undefined) return 0;
  return (object as { spec?: { replicas?: number } }).spec?.replicas ?? 1;
}

/** Our own templates carry a mark. The server fills in fields of a template, so others are compared by the changes of the write. */
function hasSameTemplate(write: ChildWrite, existing: KubeObject | undefined, next: KubeObject): boolean {
  if (write.verb === 'apply') return templateMark(write.body) === templateMark(existing);
  return equal(templateOf(existing), templateOf(next));
}

function templateOf(object: KubeObject | undefined): unknown {
  return (object as { spec?: { template?: unknown } } | undefined)?.spec?.template;
}

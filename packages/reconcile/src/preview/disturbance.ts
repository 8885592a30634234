// What a write does to running things, beyond changing an object.
import { type KubeObject, kindId } from '@capstan/kube/cluster';
import { templateMark } from '../diff/child-body.ts';
import type { ChildWrite } from '../diff/index.ts';

const WORKLOADS = new Set(['Deployment.apps', 'DaemonSet.apps', 'StatefulSet.apps', 'ReplicaSet.apps']);

/** `rolls pods`, `starts pods`, `stops pods`, or undefined when nothing that runs is touched. */
export function disturbanceOf(write: ChildWrite, existing: KubeObject | undefined): string | undefined {
  if (!WORKLOADS.has(kindId(write.kind))) return undefined;
  if (write.verb === 'delete') return 'stops pods';
  if (write.verb === 'create') return existing === undefined ? 'starts pods' : undefined;
  if (write.verb !== 'apply') return undefined;
  if (existing === undefined) return 'starts pods';
  return templateMark(write.body) === templateMark(existing) ? undefined : 'rolls pods';
}

import { ClusterRoleBinding, kindId, RoleBinding } from '@capstan/kube/cluster';
import type { ChildWrite } from '../diff/index.ts';

const BINDINGS: ReadonlySet<string> = new Set([RoleBinding, ClusterRoleBinding].map(kindId));

/**
 * The writes of a group in the order in which a server takes them, those in one list together: it refuses a binding, as not
 * found, while the role that it names is not there, unless the client may bind every role.
 */
export function inOrder(writes: readonly ChildWrite[]): readonly (readonly ChildWrite[])[] {
  const isBinding = ({ kind }: ChildWrite) => BINDINGS.has(kindId(kind));
  const lists = [writes.filter((write) => !isBinding(write)), writes.filter(isBinding)];
  return lists.filter((list) => list.length > 0);
}

// A finalizer: a Reservation labels a Node. When it is deleted, it stays until the pods that it was created for have left the
// node; then the label is removed, and the Reservation goes.
import { conditions, defineKind, Node, object, Pod, string } from '@capstan/kube';
import { conditionType, index, operator, patch, plan, reconciler, released, writing } from '@capstan/reconcile';

export const Reservation = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Reservation',
  scope: 'Cluster',
  spec: object({ node: string(), app: string({ description: 'The pods with the label app=… may use the node.' }) }),
  status: object({ conditions: conditions() }),
});

const LABEL = 'example.capstan.dev/reserved-for';
const podsOf = index(Pod, 'by-node-and-app', ({ metadata, spec }) => [`${spec?.nodeName} ${metadata.labels?.['app']}`]);
const nameOf = ({ metadata }: Pod) => metadata.name ?? '';
const labelsOf = ({ metadata }: Node) => metadata.labels ?? {};

const reserved = conditionType<'Reserved' | 'NoNode' | 'Taken' | 'InUse'>('Reserved');
/** A JSON pointer: a slash within a name is written as ~1. */
const PATH = `/metadata/labels/${LABEL.replace('/', '~1')}`;

const reservation = reconciler({
  name: 'reservation',
  resource: Reservation,
  reads: [Node, Pod],
  writes: [writing(Node, 'patch')],
  reconcile({ object: { spec }, read }) {
    const labels = read.get(Node, { name: spec.node }, labelsOf);
    if (labels === undefined)
      return plan({ conditions: [reserved.isFalse('NoNode', `there is no node ${spec.node}; correct spec.node`)] });
    const holder = labels[LABEL] ?? spec.app;
    if (holder !== spec.app)
      return plan({ conditions: [reserved.isFalse('Taken', `node ${spec.node} is reserved for ${holder}`)] });
    return plan({
      patches: [patch(Node, { name: spec.node }, [{ path: PATH, value: spec.app }])],
      conditions: [reserved.isTrue('Reserved', `node ${spec.node} is reserved for ${spec.app}`)],
    });
  },
  /** Runs instead of `reconcile` while the object is being deleted, until it returns released(). */
  release({ object: { spec }, read }) {
    const pods = read.by(podsOf, `${spec.node} ${spec.app}`, nameOf);
    if (pods.length === 0) return released();
    return plan({
      // The children stay as they are; released() undoes the patches.
      prune: false,
      conditions: [reserved.isTrue('InUse', `waiting for ${pods.length} pods on ${spec.node}, ${pods[0]} first`)],
    });
  },
});

export default operator({ name: 'reservations', kinds: [Reservation], reconcilers: [reservation] });

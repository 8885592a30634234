// The settings of the broker hold for all members: each keeps a copy of the Broker, so that they are in force also while the
// broker is away. The copy carries the origin label; nothing is deployed for it.
import { createOnly, patch, plan, type Reconciler, reading, reconciler, remove, writing } from '@capstan/reconcile';
import { BROKER_ORIGIN, Broker, ORIGIN_LABEL } from '../kinds/index.ts';
import { BROKER_ROLE, type SyncPlaces } from './sync-policies.ts';

const LOCAL_WORLD = '';

export function createBrokerSync({ namespace, brokerNamespace }: SyncPlaces): Reconciler[] {
  const imported = reconciler<Broker>({
    name: 'import-broker',
    resource: Broker,
    in: BROKER_ROLE,
    reads: [reading(Broker, 'everywhere', { in: 'local' })],
    writes: [writing(Broker, 'both', { in: 'local' })],
    primary: false,
    writesStatus: false,
    reconcile({ object: { metadata, spec }, read }) {
      const { name = '' } = metadata;
      const here = read.in(LOCAL_WORLD);
      if (metadata.namespace !== brokerNamespace || here === undefined) return plan({ held: false, prune: false });
      const ref = { namespace, name };
      const copy = here.get(Broker, ref, copyOf);
      if (copy === undefined) {
        const object = { metadata: { ...ref, labels: { [ORIGIN_LABEL]: BROKER_ORIGIN } }, spec };
        const children = [createOnly(Broker, object, { owned: false, in: LOCAL_WORLD })];
        return plan({ held: false, prune: false, children });
      }
      if (!copy.isCopy || JSON.stringify(copy.spec) === JSON.stringify(spec))
        return plan({ held: false, prune: false });
      const fields = [{ path: '/spec', value: spec }];
      const patches = [patch(Broker, ref, fields, { restore: false, explained: false, in: LOCAL_WORLD })];
      return plan({ held: false, prune: false, patches });
    },
  });
  const local = reconciler<Broker>({
    name: 'sync-broker',
    resource: Broker,
    reads: [reading(Broker, 'everywhere', { in: BROKER_ROLE })],
    writes: [writing(Broker, 'both')],
    primary: false,
    writesStatus: false,
    reconcile({ object, read }) {
      const { name = '', labels } = object.metadata;
      const there = read.in(BROKER_ROLE);
      if (object.metadata.namespace !== namespace || labels?.[ORIGIN_LABEL] === undefined || there === undefined)
        return plan({ held: false, prune: false });
      const original = there.get(Broker, { namespace: brokerNamespace, name }, nameOf);
      return plan({ held: false, prune: false, removals: original === undefined ? [remove(Broker, object)] : [] });
    },
  });
  return [imported, local];
}

const copyOf = ({ metadata, spec }: Broker) => ({ isCopy: metadata.labels?.[ORIGIN_LABEL] !== undefined, spec });
const nameOf = ({ metadata }: Broker) => metadata.name;

// The settings of the broker hold for all members: each keeps a copy of the Broker, so that they are in force also while the
// broker is away. The copy carries the origin label; nothing is deployed for it.
import { createOnly, patch, plan, type Reconciler, reading, reconciler, remove, writing } from '@capstan/reconcile';
import { BROKER_ORIGIN, Broker, LAST_DEFAULT_ANNOTATION, ORIGIN_LABEL, Submariner } from '../kinds/index.ts';
import { SYNC, SYNCED } from '../sync/content.ts';
import { annotationFields } from './copied-fields.ts';
import { BROKER_ROLE, isLeaving, type SyncPlaces } from './sync-policies.ts';

const LOCAL_WORLD = '';

export function createBrokerSync(places: SyncPlaces): Reconciler[] {
  const { namespace, brokerNamespace } = places;
  const imported = reconciler<Broker>({
    name: 'import-broker',
    resource: Broker,
    in: BROKER_ROLE,
    reads: [reading(Broker, 'everywhere', { in: 'local' }), reading(Submariner, 'everywhere', { in: 'local' })],
    writes: [writing(Broker, SYNC, { prunes: false, in: 'local' })],
    primary: false,
    writesStatus: false,
    reconcile({ object: { metadata, spec, status }, read }) {
      const { name = '' } = metadata;
      const here = read.in(LOCAL_WORLD);
      if (metadata.namespace !== brokerNamespace || here === undefined || isLeaving(here, places))
        return plan({ held: false, prune: false });
      const ref = { namespace, name };
      const copy = here.get(Broker, ref, copyOf);
      // The default policy as it last was valid holds on members until the broker has restored a deleted one.
      const lastDefault = status?.defaultPolicy === undefined ? undefined : JSON.stringify(status.defaultPolicy);
      if (copy === undefined) {
        const annotations: Record<string, string> =
          lastDefault === undefined ? {} : { [LAST_DEFAULT_ANNOTATION]: lastDefault };
        const object = { metadata: { ...ref, labels: { [ORIGIN_LABEL]: BROKER_ORIGIN }, annotations }, spec };
        const children = [createOnly(Broker, object, { owned: false, in: LOCAL_WORLD })];
        return plan({ held: false, prune: false, children });
      }
      const isSame = JSON.stringify(copy.spec) === JSON.stringify(spec) && copy.lastDefault === lastDefault;
      if (!copy.isCopy || isSame) return plan({ held: false, prune: false });
      const fields = [
        { path: '/spec', value: spec },
        ...(lastDefault === undefined ? [] : annotationFields({ [LAST_DEFAULT_ANNOTATION]: lastDefault })),
      ];
      const patches = [patch(Broker, ref, fields, { restore: false, explained: false, in: LOCAL_WORLD })];
      return plan({ held: false, prune: false, patches });
    },
  });
  const local = reconciler<Broker>({
    name: 'sync-broker',
    resource: Broker,
    reads: [reading(Broker, 'everywhere', { in: BROKER_ROLE })],
    writes: [writing(Broker, SYNC, { prunes: false })],
    primary: false,
    writesStatus: false,
    reconcile({ object, read }) {
      const { name = '', labels } = object.metadata;
      const there = read.in(BROKER_ROLE);
      if (object.metadata.namespace !== namespace || labels?.[ORIGIN_LABEL] === undefined || there === undefined)
        return plan({ held: false, prune: false });
      const original = there.get(Broker, { namespace: brokerNamespace, name }, nameOf);
      return plan({
        held: false,
        prune: false,
        removals: original === undefined ? [remove(Broker, object, SYNCED)] : [],
      });
    },
  });
  return [imported, local];
}

const copyOf = ({ metadata, spec }: Broker) => ({
  isCopy: metadata.labels?.[ORIGIN_LABEL] !== undefined,
  lastDefault: metadata.annotations?.[LAST_DEFAULT_ANNOTATION],
  spec,
});
const nameOf = ({ metadata }: Broker) => metadata.name;

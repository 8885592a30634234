// The operator that the simulation of several clusters runs: it reads and writes in all directions. A Policy of the local
// cluster becomes a ConfigMap in the clusters that it names, with a default that the broker has; a Notice of a member becomes
// a ConfigMap in the broker.
import { array, ConfigMap, conditions, defineKind, type KindOf, object, optional, string } from '@capstan/kube';
import { apply, operator, plan, reading, reconciler, writing } from '@capstan/reconcile';

export const Policy = defineKind({
  group: 'simulation.capstan.dev',
  version: 'v1',
  kind: 'Policy',
  scope: 'Namespaced',
  spec: object({
    text: string(),
    /** Names of clusters; `*` is every member. */
    to: array(string(), { default: [] }),
  }),
  status: object({ conditions: conditions(), defaults: optional(string()) }),
});
export type Policy = KindOf<typeof Policy>;

export const Notice = defineKind({
  group: 'simulation.capstan.dev',
  version: 'v1',
  kind: 'Notice',
  scope: 'Namespaced',
  spec: object({ text: string() }),
  status: object({ conditions: conditions(), published: optional(string()) }),
});
export type Notice = KindOf<typeof Notice>;

export const DEFAULTS = { namespace: 'default', name: 'defaults' };

const textOf = ({ data }: ConfigMap) => data?.['text'];

const spread = reconciler<Policy>({
  name: 'spread',
  resource: Policy,
  reads: [reading(ConfigMap, 'everywhere', { in: 'broker' })],
  writes: [ConfigMap, writing(ConfigMap, 'apply', { in: 'broker' }), writing(ConfigMap, 'apply', { in: 'member' })],
  reconcile({ object: { metadata, spec }, read }) {
    const { name = '', namespace = '' } = metadata;
    const defaults = read.in('broker')?.get(ConfigMap, DEFAULTS, textOf) ?? 'none';
    const targets = spec.to.flatMap((target) => (target === '*' ? read.worlds('member') : [target]));
    const copy = { metadata: { namespace, name: `policy-${name}` }, data: { text: spec.text, defaults } };
    return plan({
      children: [
        apply(ConfigMap, { metadata: { namespace, name: `summary-${name}` }, data: { text: spec.text } }),
        ...[...new Set(targets)].map((target) => apply(ConfigMap, copy, { in: target })),
      ],
      status: { defaults },
    });
  },
});

const publish = reconciler<Notice>({
  name: 'publish',
  in: 'member',
  resource: Notice,
  writes: [writing(ConfigMap, 'apply', { in: 'broker' })],
  reconcile({ object: { metadata, spec } }) {
    const { name = '', namespace = '' } = metadata;
    const copy = { metadata: { namespace, name: `notice-${name}` }, data: { text: spec.text } };
    return plan({ children: [apply(ConfigMap, copy, { in: 'broker' })], status: { published: spec.text } });
  },
});

export const spreadingOperator = operator({
  name: 'spreading',
  kinds: [Policy, Notice],
  reconcilers: [spread, publish],
});

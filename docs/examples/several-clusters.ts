// Several clusters: every Banner of the local cluster is copied as a ConfigMap to each member cluster, and its status names the members
// that show it. Members are added and removed while the program runs.
import { array, ConfigMap, conditions, defineKind, object, string } from '@capstan/kube';
import { apply, conditionType, operator, plan, reading, reconciler, writing } from '@capstan/reconcile';

export const Banner = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Banner',
  scope: 'Namespaced',
  spec: object({ text: string() }),
  status: object({ members: array(string(), { optional: true }), conditions: conditions() }),
});

const shown = conditionType<'Shown' | 'Copying' | 'NoMembers'>('Shown');
const textOf = ({ data }: ConfigMap) => data?.['text'];

const banner = reconciler({
  name: 'banner',
  resource: Banner,
  // Roles are declared: the caches and the permissions in a cluster follow from the role that it was added with.
  reads: [reading(ConfigMap, 'owned', { in: 'member' })],
  writes: [writing(ConfigMap, 'apply', { in: 'member' })],
  reconcile({ object: { metadata, spec }, read }) {
    const { name = '', namespace = '' } = metadata;
    const ref = { namespace, name: `banner-${name}` };
    const members = read.worlds('member');
    const current = members.filter((member) => read.in(member)?.get(ConfigMap, ref, textOf) === spec.text);
    const summary = `${current.length} of ${members.length} members show the text`;
    return plan({
      // `in` is the name of the cluster. Such a child has no owner reference; a finalizer holds the Banner instead.
      children: members.map((member) => apply(ConfigMap, { metadata: ref, data: { text: spec.text } }, { in: member })),
      status: { members: current },
      conditions: [
        members.length === 0
          ? shown.isFalse('NoMembers', 'no member cluster is connected; add one')
          : current.length === members.length
            ? shown.isTrue('Shown', summary)
            : shown.isFalse('Copying', summary),
      ],
    });
  },
});

export default operator({ name: 'banners', kinds: [Banner], reconcilers: [banner] });

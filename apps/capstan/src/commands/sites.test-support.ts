// The small operator that the tests of the commands run: a Site has its text in a ConfigMap.
import { ConfigMap, conditions, defineKind, object, Secret, string } from '@capstan/kube';
import { apply, conditionType, operator, plan, reconciler } from '@capstan/reconcile';

export const Site = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ text: string() }),
  status: object({ conditions: conditions() }),
});
const ready = conditionType<'Made'>('Ready');
const site = reconciler({
  name: 'site',
  resource: Site,
  reads: [Secret],
  writes: [ConfigMap],
  reconcile({ object: { metadata, spec } }) {
    const { name = '', namespace = '' } = metadata;
    if (spec.text === 'bug') throw new RangeError('on purpose');
    return plan({
      children: [apply(ConfigMap, { metadata: { name, namespace }, data: { text: spec.text } })],
      conditions: [ready.isTrue('Made')],
      events: [{ reason: 'Made', note: 'the text is there' }],
    });
  },
});
export const sites = operator({ name: 'sites', kinds: [Site], reconcilers: [site] });

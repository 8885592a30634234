// An operator of sites for tests of plans: a Deployment and a ConfigMap for each Site.
import { ConfigMap, conditions, Deployment, defineKind, object, string } from '@capstan/kube';
import { apply, conditionType, operator, plan, reconciler } from '@capstan/reconcile';

export const Site = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ image: string(), text: string({ optional: true }) }),
  status: object({ conditions: conditions() }),
});
const ready = conditionType<'Made'>('Ready');
/** `text` lets a test have an operator that does something else than the one that plans. */
export const sites = (text: string) =>
  operator({
    name: 'sites',
    kinds: [Site],
    reconcilers: [
      reconciler({
        name: 'site',
        resource: Site,
        reads: [],
        writes: [Deployment, ConfigMap],
        reconcile({ object: { metadata, spec } }) {
          const { name = '', namespace = '' } = metadata;
          const labels = { site: name };
          const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: spec.image }] } };
          return plan({
            children: [
              apply(Deployment, {
                metadata: { name, namespace },
                spec: { selector: { matchLabels: labels }, template },
              }),
              apply(ConfigMap, { metadata: { name, namespace }, data: { text: spec.text ?? '', more: text } }),
            ],
            conditions: [ready.isTrue('Made')],
          });
        },
      }),
    ],
  });
export const manifest = (image: string, name = 'home') =>
  `apiVersion: example.capstan.dev/v1\nkind: Site\nmetadata: {name: ${name}}\nspec: {image: "${image}"}\n`;

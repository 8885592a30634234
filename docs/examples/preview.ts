import { ConfigMap, conditions, Deployment, defineKind, integer, type KindOf, object } from '@capstan/kube';
import {
  apply,
  conditionType,
  operator,
  type PreviewResult,
  plan,
  preview,
  type Runtime,
  reconciler,
} from '@capstan/reconcile';

export const Shop = defineKind({
  group: 'example.dev',
  version: 'v1',
  kind: 'Shop',
  scope: 'Namespaced',
  spec: object({ replicas: integer({ default: 1, minimum: 0 }) }),
  status: object({ conditions: conditions() }),
});
export type Shop = KindOf<typeof Shop>;

const ready = conditionType<'Applied'>('Ready');

const shop = reconciler<Shop>({
  name: 'shop',
  resource: Shop,
  writes: [Deployment, ConfigMap],
  reconcile({ object: { metadata, spec } }) {
    const { name = '', namespace = '' } = metadata;
    const labels = { app: name };
    return plan({
      children: [
        apply(ConfigMap, { metadata: { name, namespace }, data: { replicas: String(spec.replicas) } }),
        apply(Deployment, {
          metadata: { name, namespace },
          spec: {
            replicas: spec.replicas,
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec: { containers: [{ name: 'shop', image: 'shop' }] } },
          },
        }),
      ],
      conditions: [ready.isTrue('Applied')],
    });
  },
});

export const shops = operator({ name: 'shops', kinds: [Shop], reconcilers: [shop] });

/** Shows the effect of another number of replicas, before a user is asked whether to continue. */
export function scaled(runtime: Runtime, current: Shop, replicas: number): Promise<PreviewResult> {
  const changed: Shop = { ...current, spec: { ...current.spec, replicas } };
  return preview(runtime, [{ kind: Shop, object: changed }]);
}

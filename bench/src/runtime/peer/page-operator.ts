// The operator that is measured beside controller-runtime: a Page becomes a ConfigMap with its content and a status that reports it.
// scripts/real/controller-runtime is the same operator in Go.
import { ConfigMap, conditions, defineKind, integer, object, string } from '@capstan/kube';
import { apply, conditionType, type Operator, operator, plan, reconciler } from '@capstan/reconcile';

export const Page = defineKind({
  group: 'bench.capstan.dev',
  version: 'v1',
  kind: 'Page',
  scope: 'Namespaced',
  spec: object({ title: string(), text: string(), seq: string() }),
  status: object({ bytes: integer({ optional: true }), conditions: conditions() }),
});

const ready = conditionType<'Published'>('Ready');

/** The operator; each reconcile takes so many milliseconds more, as one that does something would. */
export function createPageOperator(workMs = 0): Operator {
  const page = reconciler({
    name: 'page',
    resource: Page,
    writes: [ConfigMap],
    reconcile({ object: { metadata, spec } }) {
      const { name = '', namespace = '' } = metadata;
      if (workMs > 0) spend(workMs);
      const html = `<h1>${spec.title}</h1><p>${spec.text}</p>`;
      const labels = { 'app.kubernetes.io/name': name };
      const data = { seq: spec.seq, 'index.html': html };
      return plan({
        children: [apply(ConfigMap, { metadata: { name, namespace, labels }, data })],
        status: { bytes: Buffer.byteLength(html) },
        conditions: [ready.isTrue('Published', 'the page is in its ConfigMap')],
      });
    },
  });
  return operator({ name: 'page', kinds: [Page], reconcilers: [page] });
}

function spend(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

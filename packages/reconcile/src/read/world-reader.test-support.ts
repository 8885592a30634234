import { ConfigMap, Namespace, Secret, Service } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { type Context, type Reconciler, reading, reconciler } from '../reconciler.ts';
import { type EvaluateOptions, evaluate } from '../runtime/writer/evaluate.ts';

export const at = (name: string, namespace = 'default') => ({ namespace, name });

export const base64 = (text: string) => Buffer.from(text).toString('base64');

export const owner: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...at('owner'), uid: 'u' } };

export const service = (name: string, labels: Record<string, string> = {}, namespace?: string): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { ...at(name, namespace), labels },
  spec: { clusterIP: `ip of ${name}` },
});

export const secret = (password: string): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: at('s'),
  data: { password: base64(password), user: base64('admin') },
});

export const READS: Reconciler['reads'] = [
  reading(Service, 'everywhere'),
  reading(Secret, 'referenced'),
  reading(Namespace, 'everywhere'),
];

/** Returns the value that a reconciler reads in this way, or the end of its run. */
export function seen(check: (context: Context) => unknown, options: Partial<EvaluateOptions> = {}): unknown {
  let found: unknown;
  const reads = reconciler({
    name: 'reads',
    resource: ConfigMap,
    reads: READS,
    reconcile(context) {
      found = check(context);
      return plan();
    },
  });
  const [evaluation] = evaluate({
    operator: operator({ name: 'test', kinds: [], reconcilers: [reads] }),
    clock: createVirtualClock(),
    ...options,
    objects: [owner, ...(options.objects ?? [])],
  });
  if (evaluation?.plan.state === 'error') throw evaluation.plan.error;
  return evaluation?.plan.state === 'suspended' ? evaluation.plan : found;
}

import { keyOfObject } from '@capstan/kube';
import { plan, type Reconciler, reconciler } from '@capstan/reconcile';
import { KafkaProxy, KafkaProxyIngress } from '../kinds/index.ts';
import { conditionAbout } from '../resolution/problem.ts';
import { ingressNode } from '../tree/ingress-node.ts';

/**
 * Reconciles a leaf of the hash tree. Its hash covers the settings that it adds to the gateways of clusters. It depends on its proxy's
 * existence only.
 */
export const kafkaProxyIngress: Reconciler = reconciler<KafkaProxyIngress>({
  name: 'kafka-proxy-ingress',
  resource: KafkaProxyIngress,
  reads: [KafkaProxy],
  reconcile({ object: ingress, read }) {
    const node = read.derived(ingressNode, keyOfObject(ingress));
    const problems = node?.problems ?? [];
    return plan({
      conditions: [conditionAbout('ResolvedRefs', problems), conditionAbout('Accepted', problems)],
      ...(node === undefined ? {} : { status: { configHash: node.hash } }),
    });
  },
});

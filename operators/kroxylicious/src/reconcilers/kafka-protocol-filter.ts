import { ConfigMap, keyOfObject, Secret } from '@capstan/kube';
import { plan, type Reconciler, reconciler } from '@capstan/reconcile';
import { KafkaProtocolFilter } from '../kinds/index.ts';
import { conditionAbout } from '../resolution/problem.ts';
import { filterNode } from '../tree/filter-node.ts';

/**
 * Reconciles a leaf of the hash tree. Its hash covers its configuration and every key of a Secret or ConfigMap that the configuration
 * names.
 */
export const kafkaProtocolFilter: Reconciler = reconciler<KafkaProtocolFilter>({
  name: 'kafka-protocol-filter',
  resource: KafkaProtocolFilter,
  reads: [Secret, ConfigMap],
  reconcile({ object: filter, read }) {
    const node = read.derived(filterNode, keyOfObject(filter));
    const conditions = [conditionAbout('ResolvedRefs', node?.problems ?? [])];
    // Keep the last good hash: a plan leaves status fields that it does not mention unchanged.
    if (node?.valid === undefined) return plan({ conditions });
    return plan({ conditions, status: { configHash: node.valid.hash } });
  },
});

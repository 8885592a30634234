import { ConfigMap, keyOfObject, Secret } from '@capstan/kube';
import { apply, drop, plan, type Reconciler, reading, reconciler } from '@capstan/reconcile';
import { KafkaService, STRIMZI_KAFKA_FIELDS, StrimziKafka, StrimziKafkaV1beta2 } from '../kinds/index.ts';
import { conditionAbout, warningCondition } from '../resolution/problem.ts';
import { serviceNode } from '../tree/service-node.ts';

/**
 * Reconciles a leaf of the hash tree. Its hash covers the addresses, the TLS settings and the content of every file that is mounted for it.
 */
export const kafkaService: Reconciler = reconciler<KafkaService>({
  name: 'kafka-service',
  resource: KafkaService,
  // Children are in the namespace of their owner, so the garbage collector deletes them with it.
  finalizer: false,
  reads: [
    Secret,
    ConfigMap,
    ...[StrimziKafka, StrimziKafkaV1beta2].map((kind) =>
      reading(kind, 'everywhere', { optional: true, fields: STRIMZI_KAFKA_FIELDS }),
    ),
  ],
  writes: [ConfigMap],
  reconcile({ object: service, read }) {
    const { namespace = '' } = service.metadata;
    const node = read.derived(serviceNode, keyOfObject(service));
    const conditions = [conditionAbout('ResolvedRefs', node?.problems ?? []), warningCondition(node?.warnings ?? [])];
    if (node?.valid === undefined) return plan({ conditions, prune: false });
    const { target, hash, tls, copy } = node.valid;
    return plan({
      children:
        copy === undefined
          ? []
          : [apply(ConfigMap, { metadata: { namespace, name: copy.name }, data: { ...copy.data } })],
      conditions,
      status: {
        configHash: hash,
        bootstrapServers: target.bootstrapServers,
        tls: tls ?? drop(),
      },
    });
  },
});

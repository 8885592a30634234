import { externalKind, type KubeObject } from '@capstan/kube';

/** The parts of Strimzi's Kafka that a KafkaService reads. Its CRD need not be installed. */
export interface StrimziKafka extends KubeObject {
  spec?: { kafka?: { listeners?: { name?: string }[] } };
  status?: { listeners?: StrimziListener[] };
}

export interface StrimziListener {
  name?: string;
  /** What older versions of Strimzi have instead of a name. */
  type?: string;
  bootstrapServers?: string;
  addresses?: { host?: string; port?: number }[];
}

/**
 * Releases of Strimzi differ in the versions that they serve: v1beta2 alone up to 0.48, both for some releases after it, and v1
 * alone from 1.0 on. The older one is read only where the newer one is not served.
 */
export const StrimziKafka = strimziKafka('v1', 'Kafka');
/** With a name of its own, since it must be distinguished; where it lives is what counts for the API. */
export const StrimziKafkaV1beta2 = strimziKafka('v1beta2', 'KafkaV1beta2');

function strimziKafka(version: string, kind: string) {
  return externalKind<StrimziKafka>({
    group: 'kafka.strimzi.io',
    version,
    kind,
    plural: 'kafkas',
    scope: 'Namespaced',
    hasStatus: true,
  });
}

/** What is read of a Kafka: brokers, storage, users and the rest of it are large. */
export const STRIMZI_KAFKA_FIELDS = ['spec.kafka.listeners.name', 'status.listeners'];

import { externalKind, type KubeObject } from '@capstan/kube';

/** The parts of Strimzi's Kafka that a KafkaService reads. Its CRD need not be installed. */
export interface StrimziKafka extends KubeObject {
  spec?: { kafka?: { listeners?: { name?: string }[] } };
  status?: { listeners?: StrimziListener[] };
}

export interface StrimziListener {
  name?: string;
  /** Older versions of Strimzi have a type instead of a name. */
  type?: string;
  bootstrapServers?: string;
  addresses?: { host?: string; port?: number }[];
}

/**
 * Releases of Strimzi serve different versions: v1beta2 alone up to 0.48, both for some later releases, and v1 alone from 1.0 on. The older
 * version is read only if the newer one is not served.
 */
export const StrimziKafka = strimziKafka('v1', 'Kafka');
/** Has a kind name of its own, so that it can be told apart from v1. The API is addressed by group, version and plural only. */
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

/** The fields of a Kafka that are read. The rest (brokers, storage, users) is large. */
export const STRIMZI_KAFKA_FIELDS = ['spec.kafka.listeners.name', 'status.listeners'];

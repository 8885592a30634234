import { externalKind, type KubeObject } from '@capstan/kube';

/** The parts of Strimzi's Kafka that a KafkaService looks at. Its CRD need not be installed. */
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

export const StrimziKafka = externalKind<StrimziKafka>({
  group: 'kafka.strimzi.io',
  version: 'v1beta2',
  kind: 'Kafka',
  plural: 'kafkas',
  scope: 'Namespaced',
  hasStatus: true,
});

/** Before a Kafka is cached: brokers, storage, users and the rest of it are large, and nobody here reads them. */
export function trimStrimziKafka(kafka: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec, status } = kafka as StrimziKafka;
  const listeners = spec?.kafka?.listeners?.map(({ name }) => (name === undefined ? {} : { name }));
  const kept: StrimziKafka = {
    apiVersion,
    kind,
    metadata,
    spec: { kafka: listeners === undefined ? {} : { listeners } },
    status: status?.listeners === undefined ? {} : { listeners: status.listeners },
  };
  return kept;
}

import { type Operator, operator } from '@capstan/reconcile';
import { ADMISSION } from './admission.ts';
import { FLAGS } from './commands/flags.ts';
import { COMMANDS } from './commands/index.ts';
import {
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaProxyIngress,
  KafkaService,
  KroxyliciousSidecarConfig,
  VirtualKafkaCluster,
} from './kinds/index.ts';
import { kafkaProtocolFilter } from './reconcilers/kafka-protocol-filter.ts';
import { createKafkaProxyReconciler } from './reconcilers/kafka-proxy.ts';
import { kafkaProxyIngress } from './reconcilers/kafka-proxy-ingress.ts';
import { kafkaService } from './reconcilers/kafka-service.ts';
import { createSidecarConfigReconciler } from './reconcilers/sidecar-config.ts';
import { createSidecarWebhookReconciler } from './reconcilers/sidecar-webhook.ts';
import { createVirtualKafkaClusterReconciler } from './reconcilers/virtual-kafka-cluster.ts';
import { createKafkaReport } from './reports/kafka-report.ts';
import { DEFAULT_SETTINGS, type Settings, settingsOf } from './settings.ts';
import { createBrokenClusters } from './tree/broken-clusters.ts';
import { createClusterNode } from './tree/cluster-node.ts';

/** Creates the operator for Kafka proxies. A hash tree over all inputs of a proxy's configuration rolls its pods, and nothing else does. */
export function createKroxylicious(given: Partial<Settings> = {}): Operator {
  const settings = { ...DEFAULT_SETTINGS, ...given };
  const clusterNode = createClusterNode(settings);
  const brokenClusters = createBrokenClusters(clusterNode);
  return operator({
    name: 'kroxylicious',
    description: 'Kafka proxies that roll exactly when their configuration changed.',
    kinds: [
      KafkaProxy,
      VirtualKafkaCluster,
      KafkaProtocolFilter,
      KafkaService,
      KafkaProxyIngress,
      KroxyliciousSidecarConfig,
    ],
    admission: ADMISSION,
    reconcilers: [
      kafkaProtocolFilter,
      kafkaService,
      kafkaProxyIngress,
      createVirtualKafkaClusterReconciler(settings, clusterNode, brokenClusters),
      createKafkaProxyReconciler(settings, clusterNode, brokenClusters),
      // If another program runs the webhook, that program writes the status of configs.
      ...(settings.sidecarWebhook
        ? [createSidecarConfigReconciler(settings), createSidecarWebhookReconciler(settings)]
        : []),
    ],
    reports: [createKafkaReport(clusterNode)],
    commands: COMMANDS,
    flags: FLAGS,
    withFlags: (values) => createKroxylicious({ ...given, ...settingsOf(values) }),
  });
}

export default createKroxylicious();

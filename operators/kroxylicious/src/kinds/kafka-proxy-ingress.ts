import { conditions, defineKind, enumOf, exactlyOneOf, integer, type KindOf, map, object, string } from '@capstan/kube';
import { ACCEPTED_COLUMN, COMMON, RESOLVED_REFS_COLUMN } from './group.ts';

/** Long enough for a host name with tokens in it. */
const MAX_ADDRESS = 512;

export const KafkaProxyIngress = defineKind({
  ...COMMON,
  kind: 'KafkaProxyIngress',
  plural: 'kafkaproxyingresses',
  shortNames: ['kpi'],
  description: 'A way into a KafkaProxy for the clients of its virtual clusters.',
  spec: object(
    {
      proxyRef: object({ name: string({ minLength: 1, maxLength: 253 }) }),
      clusterIP: object(
        {
          protocol: enumOf(['TCP', 'TLS'], {
            description: 'TLS: brokers are distinguished by host name; TCP: by port.',
          }),
          bootstrapPort: integer({
            optional: true,
            minimum: 1024,
            maximum: 65_535,
            description:
              'For TCP: this port for the one cluster that uses the ingress, its brokers on the ports after it. By default ports are given out, and kept.',
          }),
        },
        { optional: true, description: 'For clients in the same Kubernetes cluster.' },
      ),
      loadBalancer: object(
        {
          bootstrapAddress: string({
            minLength: 1,
            maxLength: MAX_ADDRESS,
            description: 'Host name without port; may hold $(virtualClusterName).',
          }),
          advertisedBrokerAddressPattern: string({
            minLength: 1,
            maxLength: MAX_ADDRESS,
            description: 'Host name of a broker, without port; holds $(nodeId).',
          }),
        },
        {
          optional: true,
          description: 'For clients outside, by TLS host name.',
          rules: [
            {
              rule: '!self.bootstrapAddress.contains(":")',
              message: 'bootstrapAddress must be a host name without port: clients connect to 9083',
            },
            {
              rule: '!self.advertisedBrokerAddressPattern.contains(":")',
              message: 'advertisedBrokerAddressPattern must be a host name without port: clients connect to 9083',
            },
            {
              rule: 'self.advertisedBrokerAddressPattern.contains("$(nodeId)")',
              message: 'advertisedBrokerAddressPattern must contain $(nodeId), which stands for the id of each broker',
            },
          ],
        },
      ),
      openShiftRoute: object({}, { optional: true, description: 'For clients outside, by Routes of OpenShift.' }),
      infrastructure: object(
        {
          annotations: map(string(), {
            optional: true,
            description: 'For the Services that are created; changing them restarts nothing.',
            rules: [
              {
                rule: 'self.all(key, !key.startsWith("kroxylicious.io/") && key.size() >= 1 && key.size() <= 253)',
                message: 'keys have 1 to 253 characters and do not begin with kroxylicious.io/',
              },
            ],
            maxProperties: 64,
          }),
        },
        { optional: true },
      ),
    },
    { oneOf: exactlyOneOf('clusterIP', 'loadBalancer', 'openShiftRoute') },
  ),
  status: object({
    conditions: conditions(),
    configHash: string({ optional: true, description: 'Hash of what it adds to the configuration of clusters.' }),
  }),
  printerColumns: [
    { name: 'Proxy', jsonPath: '.spec.proxyRef.name' },
    ACCEPTED_COLUMN,
    RESOLVED_REFS_COLUMN,
    { name: 'Hash', jsonPath: '.status.configHash', priority: 1 },
  ],
});
export type KafkaProxyIngress = KindOf<typeof KafkaProxyIngress>;

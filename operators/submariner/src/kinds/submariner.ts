import {
  anyObject,
  anyValue,
  array,
  boolean,
  conditions,
  defineKind,
  integer,
  type KindOf,
  map,
  object,
  optional,
  string,
} from '@capstan/kube';
import { gatewayStatus } from './gateway.ts';
import { COMMON } from './group.ts';

const text = (description?: string) =>
  description === undefined ? string({ optional: true }) : string({ optional: true, description });
const flag = (description?: string) =>
  description === undefined ? boolean({ optional: true }) : boolean({ optional: true, description });
const names = (description: string) => array(string(), { optional: true, description });

export const Submariner = defineKind({
  ...COMMON,
  version: 'v1alpha1',
  kind: 'Submariner',
  description: 'How a cluster is connected to others: its broker, its networks and its cable drivers.',
  spec: object({
    broker: string({ default: 'k8s' }),
    brokerK8sApiServer: text('host:port or URL of the broker’s API server.'),
    brokerK8sApiServerToken: text('Deprecated: is moved into a Secret; use brokerK8sSecret.'),
    brokerK8sCA: text('Base64.'),
    brokerK8sSecret: text('Secret with token, ca.crt and namespace.'),
    brokerK8sRemoteNamespace: text(),
    brokerK8sInsecure: flag(),
    cableDriver: text('The driver of the deduced default policy.'),
    cableDrivers: names('The drivers to configure as separate cables.'),
    combinedCableDrivers: names('The drivers of a combined cable, inner first: [vxlan, ipsec], or vxlan+ipsec.'),
    cableDriverCustomConfig: anyValue({
      optional: true,
      description: 'ConfigMap with options of the drivers: its name, or {configMapName, namespace}.',
    }),
    cableDriverCustomConfigPath: text('Where that ConfigMap is mounted.'),
    cableDriverOptions: map(string(), { optional: true }),
    ceIPSecPSK: text('Deprecated: is moved into a Secret; use ceIPSecPSKSecret.'),
    ceIPSecPSKSecret: text('Secret with the pre-shared key under psk.'),
    ceIPSecIKEPort: integer({ optional: true }),
    ceIPSecNATTPort: integer({ optional: true }),
    ceIPSecDebug: flag(),
    ceIPSecPreferredServer: flag(),
    ceIPSecForceUDPEncaps: flag(),
    clusterID: string({ maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
    clusterLabels: map(string(), { optional: true, description: 'Labels of the Cluster, for CablePolicies.' }),
    clusterCIDR: text('One, or several with commas.'),
    serviceCIDR: text('One, or several with commas.'),
    globalCIDR: text(),
    colorCodes: text('Not acted on.'),
    namespace: text(),
    natEnabled: boolean({ default: false }),
    airGappedDeployment: flag(),
    loadBalancerEnabled: flag('Not acted on.'),
    serviceDiscoveryEnabled: flag('Not acted on.'),
    haltOnCertificateError: flag(),
    connectionHealthCheck: object(
      {
        enabled: boolean({ default: true }),
        intervalSeconds: integer({ default: 1, minimum: 1 }),
        maxPacketLossCount: integer({ default: 5, minimum: 1 }),
      },
      { optional: true },
    ),
    debug: flag(),
    version: text(),
    repository: text(),
    imageOverrides: map(string(), { optional: true }),
    imagePullSecrets: array(object({ name: string() }), { optional: true }),
    nodeSelector: map(string(), { optional: true }),
    tolerations: array(anyObject(), { optional: true }),
    customDomains: names('Not acted on.'),
    coreDNSCustomConfig: anyObject({ optional: true, description: 'Not acted on.' }),
    clustersetIPEnabled: flag('Not acted on.'),
    clustersetIPCIDR: text('Not acted on.'),
  }),
  status: object({
    conditions: conditions(),
    broker: object(
      {
        server: string(),
        namespace: string(),
        clusterID: string(),
        insecure: flag(),
      },
      {
        optional: true,
        description: 'The broker that the cluster has joined; it is left before another one is joined.',
      },
    ),
    clusterID: text(),
    clusterCIDR: text(),
    serviceCIDR: text(),
    globalCIDR: text(),
    colorCodes: text(),
    natEnabled: flag(),
    airGappedDeployment: flag(),
    networkPlugin: text('Not determined: routes do not depend on it here.'),
    deploymentInfo: object(
      {
        kubernetesType: text(),
        kubernetesTypeVersion: text('Not determined.'),
        kubernetesVersion: text(),
        cloudProvider: text('From the providerID of the nodes.'),
      },
      { optional: true },
    ),
    version: text(),
    warnings: array(string(), { optional: true }),
    gatewayDaemonSetStatus: object(
      {
        desired: integer({ optional: true }),
        ready: integer({ optional: true }),
        mismatchedContainerImages: boolean({ optional: true, description: 'A rollout is under way.' }),
        status: map(integer(), { optional: true, description: 'The counts of the status of the DaemonSet.' }),
      },
      { optional: true },
    ),
    gateways: optional(array(gatewayStatus())),
  }),
  printerColumns: [
    { name: 'Cluster', jsonPath: '.spec.clusterID' },
    { name: 'Deployed', jsonPath: '.status.conditions[?(@.type=="Deployed")].status' },
    { name: 'Driver', jsonPath: '.spec.cableDriver' },
    { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' },
  ],
});
export type Submariner = KindOf<typeof Submariner>;
export type SubmarinerSpec = Submariner['spec'];

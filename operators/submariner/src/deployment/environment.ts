// The environment of a gateway: the variables of the original, without secrets, and those of several drivers.
import type { EnvVar } from '@capstan/kube';
import type { SubmarinerSpec } from '../kinds/index.ts';
import { BROKER_MOUNT, type GatewayConfiguration, PSK_MOUNT } from './configuration.ts';

export function gatewayEnvironment(
  spec: SubmarinerSpec,
  namespace: string,
  configuration: GatewayConfiguration,
): EnvVar[] {
  const { connectionHealthCheck: health } = spec;
  const [cableDriver] = configuration.drivers;
  const combined = configuration.drivers.filter((name) => name.includes('+'));
  const single = configuration.drivers.filter((name) => !name.includes('+'));
  const values: Readonly<Record<string, string | number | boolean | undefined>> = {
    SUBMARINER_NAMESPACE: spec.namespace ?? namespace,
    SUBMARINER_CLUSTERID: spec.clusterID,
    SUBMARINER_CLUSTERCIDR: spec.clusterCIDR,
    SUBMARINER_SERVICECIDR: spec.serviceCIDR,
    SUBMARINER_GLOBALCIDR: spec.globalCIDR,
    SUBMARINER_NATENABLED: spec.natEnabled,
    SUBMARINER_BROKER: spec.broker,
    SUBMARINER_DEBUG: spec.debug,
    SUBMARINER_CABLEDRIVER: cableDriver,
    SUBMARINER_CABLEDRIVERS: single.length > 1 || combined.length > 0 ? single.join(',') : undefined,
    SUBMARINER_COMBINEDCABLEDRIVERS: combined.length > 0 ? combined.join(',') : undefined,
    SUBMARINER_CABLEDRIVERCUSTOMCONFIGPATH:
      configuration.customConfig === undefined ? undefined : configuration.customConfigPath,
    SUBMARINER_HEALTHCHECKENABLED: health?.enabled ?? true,
    SUBMARINER_HEALTHCHECKINTERVAL: health?.intervalSeconds ?? 1,
    SUBMARINER_HEALTHCHECKMAXPACKETLOSSCOUNT: health?.maxPacketLossCount ?? 5,
    SUBMARINER_HALT_ON_CERT_ERROR: spec.haltOnCertificateError,
    AIR_GAPPED_DEPLOYMENT: spec.airGappedDeployment,
    CE_IPSEC_PSKSECRET: configuration.pskSecret,
    // The folders at which the two Secrets are mounted.
    CE_IPSEC_PSKSECRET_DIR: configuration.pskSecret && `${PSK_MOUNT}/${configuration.pskSecret}`,
    BROKER_K8S_SECRET_DIR: configuration.brokerSecret && `${BROKER_MOUNT}/${configuration.brokerSecret}`,
    CE_IPSEC_DEBUG: spec.ceIPSecDebug,
    CE_IPSEC_NATTPORT: spec.ceIPSecNATTPort,
    CE_IPSEC_PREFERREDSERVER: spec.ceIPSecPreferredServer,
    CE_IPSEC_FORCEENCAPS: spec.ceIPSecForceUDPEncaps,
    BROKER_K8S_APISERVER: spec.brokerK8sApiServer,
    BROKER_K8S_REMOTENAMESPACE: spec.brokerK8sRemoteNamespace,
    BROKER_K8S_CA: spec.brokerK8sCA,
    BROKER_K8S_INSECURE: spec.brokerK8sInsecure,
    BROKER_K8S_SECRET: configuration.brokerSecret,
  };
  const plain = Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [{ name, value: String(value) }],
  );
  const field = (name: string, fieldPath: string): EnvVar => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  return [...plain, field('NODE_NAME', 'spec.nodeName'), field('POD_NAME', 'metadata.name')];
}

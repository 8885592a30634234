// The DaemonSet of gateways: on the host's network, with the capabilities that cables need, and secrets as files only.
import type { DaemonSet, Volume, VolumeMount } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import type { SubmarinerSpec } from '../kinds/index.ts';
import { BROKER_MOUNT, type GatewayConfiguration, PSK_MOUNT } from './configuration.ts';
import { gatewayEnvironment } from './environment.ts';

export const GATEWAY = 'submariner-gateway';
export const GATEWAY_LABELS = { app: GATEWAY, component: 'gateway' };
/** Nodes with this label run gateways. */
export const GATEWAY_NODE_LABEL = 'submariner.io/gateway';
const METRICS_PORT = 32780;

export interface DaemonSetParts {
  readonly spec: SubmarinerSpec;
  readonly namespace: string;
  readonly configuration: GatewayConfiguration;
  readonly image: string;
}

export function gatewayDaemonSet({ spec, namespace, configuration, image }: DaemonSetParts): ChildObject<DaemonSet> {
  const { volumes, volumeMounts } = mounts(configuration);
  return {
    metadata: { namespace, name: GATEWAY, labels: GATEWAY_LABELS },
    spec: {
      selector: { matchLabels: { app: GATEWAY } },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
      template: {
        metadata: { labels: GATEWAY_LABELS },
        spec: {
          serviceAccountName: GATEWAY,
          hostNetwork: true,
          dnsPolicy: 'ClusterFirstWithHostNet',
          nodeSelector: { [GATEWAY_NODE_LABEL]: 'true', ...spec.nodeSelector },
          tolerations: spec.tolerations ?? [{ operator: 'Exists' }],
          // The time to release the Lease, or to remove everything if Submariner is uninstalled.
          terminationGracePeriodSeconds: 10,
          ...(spec.imagePullSecrets !== undefined && { imagePullSecrets: spec.imagePullSecrets }),
          containers: [
            {
              name: GATEWAY,
              image: spec.imageOverrides?.[GATEWAY] ?? image,
              command: ['submariner'],
              args: ['gateway'],
              env: gatewayEnvironment(spec, namespace, configuration),
              ports: [{ name: 'metrics', containerPort: METRICS_PORT, protocol: 'TCP' }],
              securityContext: {
                capabilities: { add: ['NET_ADMIN', 'NET_RAW', 'SYS_MODULE'], drop: ['ALL'] },
                allowPrivilegeEscalation: true,
                privileged: true,
                readOnlyRootFilesystem: false,
                runAsNonRoot: false,
              },
              resources: { requests: { cpu: '50m', memory: '128Mi' } },
              terminationMessagePolicy: 'FallbackToLogsOnError',
              volumeMounts,
            },
          ],
          volumes,
        },
      },
    },
  };
}

function mounts({ pskSecret, brokerSecret, customConfig, customConfigPath }: GatewayConfiguration) {
  // A privileged container has the devices of its host, including /dev/net/tun.
  // These folders are on the node: the next pod adopts the state of the last one, and a file restores the backstop after a reboot.
  const folders = [
    ['run', '/run/submariner'],
    ['state', '/var/lib/submariner'],
  ] as const;
  const volumes: Volume[] = folders.map(([name, path]) => ({ name, hostPath: { path, type: 'DirectoryOrCreate' } }));
  const volumeMounts: VolumeMount[] = folders.map(([name, mountPath]) => ({ name, mountPath }));
  const secrets = [
    ['psk', pskSecret, PSK_MOUNT],
    ['broker', brokerSecret, BROKER_MOUNT],
  ] as const;
  for (const [name, secretName, folder] of secrets) {
    if (secretName === undefined) continue;
    volumes.push({ name, secret: { secretName, defaultMode: 0o400 } });
    volumeMounts.push({ name, mountPath: `${folder}/${secretName}`, readOnly: true });
  }
  if (customConfig !== undefined) {
    // The ConfigMap is optional: a gateway starts without it and reads it once it exists.
    volumes.push({ name: 'cable-driver-config', configMap: { name: customConfig.name, optional: true } });
    volumeMounts.push({ name: 'cable-driver-config', mountPath: customConfigPath, readOnly: true });
  }
  return { volumes, volumeMounts };
}

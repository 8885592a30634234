// The Service of a revision: webhooks of a Provider, or a Function's gRPC.
import type { Deployment, Service } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import { podLabels } from './labels.ts';
import type { RuntimeNames } from './names.ts';
import { GRPC_PORT, portOf, WEBHOOK_PORT } from './ports.ts';
import type { RenderInput } from './render.ts';

/** Where Services listen, whatever port the container has. */
export const SERVICE_PORT = 9443;

export function renderService(
  { revision, config, namespace }: RenderInput,
  names: RuntimeNames,
  deployment: ChildObject<Deployment>,
): ChildObject<Service> {
  const isFunction = revision.kind === 'Function';
  const role = isFunction ? GRPC_PORT : WEBHOOK_PORT;
  const [container] = deployment.spec?.template.spec?.containers ?? [];
  return {
    metadata: { ...config.service, name: names.service, namespace },
    spec: {
      selector: podLabels(revision),
      // A Function's clients balance by themselves, over the addresses of its pods.
      ...(isFunction && { clusterIP: 'None' }),
      ports: [
        {
          name: role.name,
          protocol: 'TCP',
          port: SERVICE_PORT,
          targetPort: portOf(container?.ports, role)?.name ?? role.name,
          ...(isFunction && { appProtocol: 'tls' }),
        },
      ],
    },
  };
}

/** Where a Function is called: the form that gRPC resolves to all addresses behind the name. */
export function endpointOf(service: string, namespace: string): string {
  return `dns:///${service}.${namespace}:${SERVICE_PORT}`;
}

// The settings that an instance takes from its Gateway: ports, labels, annotations, addresses.
import { childName, type Kind } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import type { Gateway } from '../api/objects.ts';
import { type GatewayPort, gatewayPorts } from './container-ports.ts';

export const GATEWAY_NAME_LABEL = 'gateway.networking.k8s.io/gateway-name';

export interface GatewayShape {
  readonly name: string;
  readonly ports: readonly GatewayPort[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Wanted addresses. */
  readonly addresses: readonly string[];
}

/** Undefined while there is no such Gateway, or the cluster does not know the kind. */
export function gatewayShape(
  read: Reader,
  kind: Kind<Gateway>,
  ref: { readonly namespace?: string | undefined; readonly name?: string | undefined } | undefined,
): GatewayShape | undefined {
  if (!ref?.name || !ref.namespace || read.access(kind) !== 'served') return undefined;
  return read.get(kind, { namespace: ref.namespace, name: ref.name }, shapeOf);
}

function shapeOf({ metadata, spec }: Gateway): GatewayShape {
  const { labels = {}, annotations = {} } = spec.infrastructure ?? {};
  return {
    name: metadata.name ?? '',
    ports: gatewayPorts(spec.listeners),
    labels: { ...labels, [GATEWAY_NAME_LABEL]: childName(metadata.name ?? '') },
    annotations,
    addresses: (spec.addresses ?? []).flatMap(({ type = 'IPAddress', value }) =>
      type === 'IPAddress' && value ? [value] : [],
    ),
  };
}

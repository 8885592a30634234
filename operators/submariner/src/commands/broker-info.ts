// broker-info.subm: the data that a cluster needs to join. It has the format of the original: base64url of JSON, readable by its owner
// only.
import { isJsonObject } from '@capstan/kube';
import { CommandErrors } from './errors.ts';

export interface BrokerInfo {
  readonly brokerURL: string;
  readonly namespace: string;
  /** The token of the broker's administrator, used once to create the account of the new member. */
  readonly token: string;
  /** PEM. */
  readonly ca: string | undefined;
  /** The raw bytes in base64. */
  readonly psk: string;
  readonly components: readonly string[];
  /** The driver of clusters that join without naming one. The original does not have this field. */
  readonly cableDriver?: string | undefined;
}

export function formatBrokerInfo(info: BrokerInfo): string {
  const { brokerURL, namespace, token, ca, psk, components, cableDriver } = info;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const content = {
    brokerURL,
    ClientToken: {
      metadata: { name: 'submariner-k8s-broker-admin-token', namespace },
      data: { token: base64(token), namespace: base64(namespace), ...(ca !== undefined && { 'ca.crt': base64(ca) }) },
    },
    IPSecPSK: { metadata: { name: 'submariner-ipsec-psk', namespace }, data: { psk } },
    Components: components,
    ServiceDiscovery: false,
    ...(cableDriver !== undefined && { DefaultCableDriver: cableDriver }),
  };
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

export function parseBrokerInfo(text: string, file: string): BrokerInfo {
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(text.trim(), 'base64url').toString('utf8'));
  } catch {
    throw CommandErrors.BadBrokerInfo(file);
  }
  if (!isJsonObject(content)) throw CommandErrors.BadBrokerInfo(file);
  const data = (field: string) => {
    const secret = isJsonObject(content) ? content[field] : undefined;
    return isJsonObject(secret) && isJsonObject(secret['data']) ? secret['data'] : {};
  };
  const plain = (value: unknown) =>
    typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : undefined;
  const { token, namespace, 'ca.crt': ca } = data('ClientToken');
  const { psk } = data('IPSecPSK');
  const brokerURL = content['brokerURL'];
  const components = content['Components'];
  if (typeof brokerURL !== 'string' || plain(token) === undefined || typeof psk !== 'string')
    throw CommandErrors.BadBrokerInfo(file);
  return {
    brokerURL,
    namespace: plain(namespace) ?? 'submariner-k8s-broker',
    token: plain(token) ?? '',
    ca: plain(ca),
    psk,
    components: Array.isArray(components) ? components.map(String) : [],
    cableDriver: typeof content['DefaultCableDriver'] === 'string' ? content['DefaultCableDriver'] : undefined,
  };
}

// Settings of one gateway on its Node: labels and annotations gateway.submariner.io/NAME, as the original has them. An
// annotation wins over a label.
import { type Client, isForbidden, isNotFound, Node } from '@capstan/kube';
import type { GatewayConfiguration } from './configuration.ts';

const PREFIX = 'gateway.submariner.io/';

export interface NodeSettings {
  readonly configuration: GatewayConfiguration;
  readonly problems: readonly string[];
}

/** Returns the configuration with the settings of this gateway's Node. */
export async function withNodeSettings(client: Client, configuration: GatewayConfiguration): Promise<NodeSettings> {
  try {
    const { metadata } = await client.get(Node, { name: configuration.nodeName });
    return applySettings(configuration, { ...metadata.labels, ...metadata.annotations });
  } catch (error) {
    // A gateway outside of a cluster has no Node.
    if (isNotFound(error) || isForbidden(error)) return { configuration, problems: [] };
    throw error;
  }
}

export function applySettings(
  configuration: GatewayConfiguration,
  marks: Readonly<Record<string, string>>,
): NodeSettings {
  const problems: string[] = [];
  let result = configuration;
  for (const [name, value] of Object.entries(marks)) {
    if (!name.startsWith(PREFIX)) continue;
    const key = name.slice(PREFIX.length);
    const port = /^\d{1,5}$/.test(value) && Number(value) < 65_536 ? Number(value) : undefined;
    const wrong = (expected: string) =>
      problems.push(`Node ${configuration.nodeName}: ${name} must be ${expected} (${value})`);
    if (key === 'udp-port') {
      if (port === undefined) wrong('a port');
      else result = { ...result, options: { ...result.options, 'ipsec.port': String(port) } };
    } else if (key === 'natt-discovery-port') {
      if (port === undefined) wrong('a port');
      else result = { ...result, discoveryPort: port };
    } else if (key === 'preferred-server') {
      if (value !== 'true' && value !== 'false') wrong('true or false');
      else result = { ...result, preferredServer: value === 'true' };
    } else if (key === 'public-ip') {
      const [, address] = /^ipv4:([\d.]+)$/.exec(value) ?? [];
      if (address === undefined) wrong('ipv4:ADDRESS');
      else result = { ...result, publicIP: address };
    } else if (key !== 'status' && key !== 'preferred-server-timestamp') {
      problems.push(`Node ${configuration.nodeName}: ${name} is not a setting of a gateway; remove it`);
    }
  }
  return { configuration: result, problems };
}

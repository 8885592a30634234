import { type Client, type Kind, servedAmong } from '@capstan/kube';
import { type GatewayKinds, gatewayKinds, VERSIONS } from './objects.ts';

/** The kinds of the Gateway API in the newest version that the server has of each; v1 where it has none, or does not answer. */
export async function servedGatewayKinds(client: Client, signal?: AbortSignal): Promise<GatewayKinds> {
  const names = Object.keys(VERSIONS) as (keyof GatewayKinds)[];
  const kindOf = (name: keyof GatewayKinds, version: string): Kind => gatewayKinds({ [name]: version })[name];
  const candidates = names.flatMap((name) => VERSIONS[name].map((version) => kindOf(name, version)));
  let isServed: (kind: Kind) => boolean;
  try {
    isServed = await servedAmong(client, candidates, signal ? { signal } : {});
  } catch {
    return gatewayKinds();
  }
  return gatewayKinds(
    Object.fromEntries(
      names.map((name) => [name, VERSIONS[name].find((version) => isServed(kindOf(name, version))) ?? 'v1']),
    ),
  );
}

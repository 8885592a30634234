// Proxies as the environment names them, for the one that asks registries.
import type { TransportOptions } from './transport.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Addresses of this machine are never requested through a proxy, which would resolve them on its own machine. */
const OWN = ['localhost', '127.0.0.1', '[::1]'];

/** HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in upper or lower case; undefined when everything is asked directly. */
export function proxyOf(env: Environment): TransportOptions['proxy'] {
  const valueOf = (name: string) => env[name] || env[name.toLowerCase()] || '';
  const [httpProxy, httpsProxy, noProxy] = [valueOf('HTTP_PROXY'), valueOf('HTTPS_PROXY'), valueOf('NO_PROXY').trim()];
  if ((httpProxy === '' && httpsProxy === '') || noProxy === '*') return undefined;
  return { httpProxy, httpsProxy, noProxy: [...(noProxy === '' ? [] : [noProxy]), ...OWN].join(',') };
}

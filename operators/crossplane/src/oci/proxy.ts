// Proxies as the environment names them, for the one that asks registries.
import type { TransportOptions } from './transport.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What is on this machine is never asked through a proxy, which would search for it on its own. */
const OWN = ['localhost', '127.0.0.1', '[::1]'];

/** HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in upper or lower case; undefined when everything is asked directly. */
export function proxyOf(env: Environment): TransportOptions['proxy'] {
  const valueOf = (name: string) => env[name] || env[name.toLowerCase()] || '';
  const [httpProxy, httpsProxy, noProxy] = [valueOf('HTTP_PROXY'), valueOf('HTTPS_PROXY'), valueOf('NO_PROXY').trim()];
  if ((httpProxy === '' && httpsProxy === '') || noProxy === '*') return undefined;
  return { httpProxy, httpsProxy, noProxy: [...(noProxy === '' ? [] : [noProxy]), ...OWN].join(',') };
}

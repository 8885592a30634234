// On a machine whose pods share one network (the local node), each pod has an address of its own: a wildcard or loopback address
// of the configuration means that one there.

/** Of the environment: the address that this pod binds. */
export const BIND_VARIABLE = 'SESAME_BIND_ADDRESS';

/** In the metadata of Envoy's node: the address that its listeners bind. */
export const BIND_METADATA = 'projectsesame.io/bind-address';

const SHARED: ReadonlySet<string> = new Set(['0.0.0.0', '::', '127.0.0.1', '::1', 'localhost']);

export function boundAddress(address: string, bindAddress: string | undefined): string {
  return bindAddress !== undefined && bindAddress !== '' && SHARED.has(address) ? bindAddress : address;
}

// The look-ups of the Gateway API's translation. Derivations pass tracked reads, tests pass maps.
import type { Lookup } from '../../routing/lookup.ts';
import type { BackendTLSPolicy, GatewayClass } from './objects.ts';
import type { GrantSpec } from './references.ts';

export interface GatewayLookup extends Pick<Lookup, 'service' | 'secret'> {
  gatewayClass(name: string): GatewayClass['spec'] | undefined;
  /** Undefined when there is no such namespace. */
  namespaceLabels(name: string): Readonly<Record<string, string>> | undefined;
  /** Returns the ReferenceGrants in a namespace. */
  grants(namespace: string): readonly GrantSpec[];
  configMap(namespace: string, name: string): Readonly<Record<string, string>> | undefined;
  /** Policies that name the Service, in the order of their precedence. */
  backendTlsPolicies(namespace: string, service: string): readonly BackendTLSPolicy[];
}

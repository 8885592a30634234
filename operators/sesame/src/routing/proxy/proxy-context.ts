import type { Violation } from '../../envoy/index.ts';
import type { HTTPProxy } from '../../kinds/http-proxy.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { HostAuthorization } from '../../model/policy.ts';
import type { ProblemLog } from '../../result.ts';
import type { Lookup } from '../lookup.ts';
import type { HostTokens } from '../policy/jwt.ts';
import type { RoutingSettings } from '../settings.ts';

/** The facts that are known while the routes of one root are translated. */
export interface RootContext {
  readonly root: HTTPProxy;
  readonly fqdn: string;
  readonly lookup: Lookup;
  readonly settings: RoutingSettings;
  readonly log: ProblemLog;
  /** TLS is terminated. */
  readonly isSecure: boolean;
  /** Clients log in before requests pass. */
  readonly hasLogin: boolean;
  readonly jwt: HostTokens | undefined;
  readonly hasAuthorization: boolean;
  /** The context of the host, for the authorization service. */
  readonly authorizationContext: Readonly<Record<string, string>>;
  readonly isAuthorizationDisabled: boolean;
  /** The service that a host without TLS names. */
  readonly hostAuthorization: HostAuthorization | undefined;
  /** SDS name of the certificate that Envoy shows to services. */
  readonly clientCertificate: string | undefined;
  /** Clusters by name and the proxy that asks for them: routes of a host use the same few again and again. */
  readonly clusters: Map<string, CheckedCluster>;
}

/** A cluster, and the violations that Envoy would refuse in it. */
export interface CheckedCluster {
  readonly cluster: Cluster;
  readonly refused: Violation | undefined;
}

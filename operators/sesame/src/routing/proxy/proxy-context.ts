import type { Violation } from '../../envoy/index.ts';
import type { HTTPProxy } from '../../kinds/http-proxy.ts';
import type { Resource } from '../../xds/index.ts';
import type { Lookup } from '../lookup.ts';
import type { JwtFilter } from '../policy/jwt.ts';
import { type ProblemLog, type Reporter, reporterOf } from '../problems.ts';
import type { RoutingSettings } from '../settings.ts';

/** What is known while the routes of one root are translated. */
export interface RootContext {
  readonly root: HTTPProxy;
  readonly fqdn: string;
  readonly lookup: Lookup;
  readonly settings: RoutingSettings;
  readonly log: ProblemLog;
  /** TLS is terminated. */
  readonly isSecure: boolean;
  readonly jwt: JwtFilter | undefined;
  readonly hasAuthorization: boolean;
  /** Of the host, for the authorization service. */
  readonly authorizationContext: Readonly<Record<string, string>>;
  readonly isAuthorizationDisabled: boolean;
  /** SDS name of the certificate that Envoy shows to services. */
  readonly clientCertificate: string | undefined;
  /** Clusters by name and the proxy that asks for them: routes of a host use the same few again and again. */
  readonly clusters: Map<string, CheckedCluster>;
}

/** A cluster, and what Envoy would refuse in it. */
export interface CheckedCluster {
  readonly cluster: Resource;
  readonly refused: Violation | undefined;
}

export function reporterFor({ log }: RootContext, proxy: HTTPProxy): Reporter {
  return reporterOf(log, namesOf(proxy));
}

export function namesOf({ metadata }: HTTPProxy): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}

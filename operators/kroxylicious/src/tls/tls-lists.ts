// Inspects the lists of allowed and denied TLS versions and cipher suites. The proxy ignores names that it does not know and only logs
// them. If no version is left, it does not start, and all its virtual clusters are down.
import type { AllowDeny } from '../kinds/index.ts';
import { type Problem, problem, type Warning } from '../resolution/problem.ts';

export interface TlsLists {
  readonly protocols?: AllowDeny | undefined;
  readonly cipherSuites?: AllowDeny | undefined;
}

/** The names of Java. Only the last two are enabled by default. */
const VERSIONS = ['SSLv2Hello', 'SSLv3', 'TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];
const DEFAULT_VERSIONS = ['TLSv1.2', 'TLSv1.3'];
/** Only the proxy's Java knows the list of suites. All of their names match this pattern, and those of OpenSSL do not. */
const SUITE = /^(TLS|SSL)_[A-Za-z0-9_]+$/;

/** Inspects the lists of the `tls` at `path`. */
export function inspectTlsLists(
  { protocols, cipherSuites }: TlsLists,
  path: string,
): { problems: Problem[]; warnings: Warning[] } {
  const warnings = [
    ...unknown(protocols, `${path}.protocols`, (name) => VERSIONS.includes(name), 'TLSv1.2 or TLSv1.3'),
    ...unknown(cipherSuites, `${path}.cipherSuites`, (name) => SUITE.test(name), 'TLS_AES_128_GCM_SHA256, for example'),
  ];
  const allowed = protocols?.allow?.length ? protocols.allow : DEFAULT_VERSIONS;
  const left = allowed.filter((name) => VERSIONS.includes(name) && !protocols?.deny.includes(name));
  const message = `no version of TLS is left of ${allowed.join(', ')}; allow ${DEFAULT_VERSIONS.join(' or ')}`;
  return { problems: left.length > 0 ? [] : [problem('Invalid', `${path}.protocols`, message)], warnings };
}

function unknown(
  lists: AllowDeny | undefined,
  path: string,
  isKnown: (name: string) => boolean,
  form: string,
): Warning[] {
  return (['allow', 'deny'] as const).flatMap((list) => {
    const names = (lists?.[list] ?? []).filter((name) => !isKnown(name));
    if (names.length === 0) return [];
    const message = `the proxy does not know ${names.join(', ')} and passes it over; write ${form}`;
    return [{ reason: 'TlsNameUnknown' as const, path: `${path}.${list}`, message }];
  });
}

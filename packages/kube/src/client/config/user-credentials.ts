// Credentials of a kubeconfig user or a service account: static values, files that are read again, a plugin that is run again. Static
// values are loaded and checked at the start, so that a mistake is reported before the first request. Later changes are checked too, and
// the old material stays in use while a rotation is incomplete.
import { ConfigError, ConfigErrors, reasonOf } from '../../errors.ts';
import { type CertificateValidity, certificateValidity } from '../../x509/validity.ts';
import { contextOf } from '../http/connections.ts';
import type { Credentials, Identity, TlsMaterial } from '../http/credentials.ts';
import type { Edge } from './edge.ts';
import { createExecPlugin } from './exec-plugin.ts';
import { createFileSource, type FileSource } from './file-source.ts';
import type { ClusterConfig, Impersonation, UserEntry } from './kubeconfig.ts';

/** Opens the credentials of this context. Throws a ConfigError if a part of it cannot be used. */
export async function openCredentials(config: ClusterConfig, edge: Edge): Promise<Credentials> {
  const { cluster, user } = config;
  checkLogins(config);
  const insecure = cluster.insecure ?? false;
  const ca = insecure
    ? undefined
    : materialOf('certificate authority', cluster.file, cluster.caData, cluster.caFile, edge);
  const cert = materialOf('client certificate', user.file, user.certData, user.certFile, edge);
  const key = materialOf('client key', user.file, user.keyData, user.keyFile, edge);
  const tokenFile = user.tokenFile === undefined ? undefined : createFileSource(user.tokenFile, edge);
  // Like kubectl, prefer an explicit login to the plugin.
  const hasLogin = user.token !== undefined || tokenFile !== undefined || user.username !== undefined;
  const plugin = user.exec === undefined || hasLogin ? undefined : createExecPlugin(config, user.exec, edge);

  let checked: Checked | undefined;
  let identity: Identity | undefined;

  async function load(isForced: boolean, withPlugin: boolean): Promise<Identity> {
    const printed = withPlugin ? await plugin?.credentials() : undefined;
    const [caPem, certPem, keyPem, fileToken] = await Promise.all([
      ca?.source.read(isForced),
      printed?.cert ?? cert?.source.read(isForced),
      printed?.key ?? key?.source.read(isForced),
      tokenFile?.read(isForced),
    ]);
    checked = check({ ca: caPem, cert: certPem, key: keyPem });
    const token = fileToken?.trim() || user.token || printed?.token;
    const headers = { ...loginHeaders(user, token), ...impersonationHeaders(user.impersonate) };
    // Identities are compared by reference, so keep the old object if nothing changed.
    const isSame = identity?.tls === checked.tls && JSON.stringify(identity.headers) === JSON.stringify(headers);
    if (identity === undefined || !isSame) identity = { headers, tls: checked.tls };
    return identity;
  }

  /** Checks the material once for each content, and the validity of the certificate every time. */
  function check(parts: Pick<TlsMaterial, 'ca' | 'cert' | 'key'>): Checked {
    const before = checked?.tls;
    const isSame = before?.ca === parts.ca && before?.cert === parts.cert && before?.key === parts.key;
    const next = checked !== undefined && isSame ? checked : recheck(parts);
    if (next.validity !== undefined) checkValidity(next.validity, cert?.place ?? user.file, edge.clock.now());
    return next;
  }

  function recheck(parts: Pick<TlsMaterial, 'ca' | 'cert' | 'key'>): Checked {
    try {
      const validity = parts.cert === undefined ? undefined : validityOf(parts.cert, cert?.place ?? user.file);
      const tls = { ...parts, insecure, serverName: cluster.tlsServerName };
      usable(tls, ca?.place ?? cluster.file, cert?.place ?? user.file);
      return { tls, validity };
    } catch (error) {
      if (checked === undefined || !(error instanceof ConfigError)) throw error;
      edge.logger.warn('new certificates cannot be used; the last ones stay in use', { reason: error.message });
      return checked;
    }
  }

  const isFixed =
    plugin === undefined && tokenFile === undefined && [ca, cert, key].every((material) => material?.isFixed ?? true);
  await load(false, false);
  return {
    current() {
      if (!isFixed || identity === undefined) return load(false, true);
      // The validity is the only part that changes with time.
      if (checked?.validity !== undefined) checkValidity(checked.validity, cert?.place ?? user.file, edge.clock.now());
      return identity;
    },
    async refused(refused) {
      // Another request has already renewed the credentials.
      if (identity !== refused) return true;
      plugin?.forget();
      return (await load(true, true)) !== refused;
    },
    async close() {
      await plugin?.close();
    },
  };
}

interface Checked {
  tls: TlsMaterial;
  validity: CertificateValidity | undefined;
}

function checkLogins({ user, userName }: ClusterConfig): void {
  if (user.authProvider !== undefined) throw ConfigErrors.AuthProvider(user.file, userName, user.authProvider);
  const hasToken = user.token !== undefined || user.tokenFile !== undefined;
  if (hasToken && user.username !== undefined)
    throw ConfigErrors.TwoLogins(user.file, userName, 'a token', 'a username');
  const hasCert = user.certData !== undefined || user.certFile !== undefined;
  const hasKey = user.keyData !== undefined || user.keyFile !== undefined;
  if (hasCert !== hasKey) {
    throw ConfigErrors.HalfCertificate(user.file, userName, hasCert ? 'client-key' : 'client-certificate');
  }
}

interface Material {
  source: FileSource;
  /** The value is in the kubeconfig itself, which is read once. */
  isFixed: boolean;
  /** The file to name if the value is wrong. */
  place: string;
}

function materialOf(
  what: string,
  kubeconfig: string,
  data: string | undefined,
  file: string | undefined,
  edge: Edge,
): Material | undefined {
  if (data === undefined)
    return file === undefined ? undefined : { source: createFileSource(file, edge), isFixed: false, place: file };
  const pem = Buffer.from(data, 'base64').toString('utf8');
  if (!pem.includes('-----BEGIN ')) {
    throw ConfigErrors.BadCertificate(what, kubeconfig, 'its data is not PEM in base64');
  }
  return { source: { read: async () => pem }, isFixed: true, place: kubeconfig };
}

function validityOf(cert: string, place: string): CertificateValidity {
  try {
    return certificateValidity(cert);
  } catch (cause) {
    throw ConfigErrors.BadCertificate('client certificate', place, reasonOf(cause));
  }
}

function checkValidity({ notBefore, notAfter }: CertificateValidity, place: string, now: number): void {
  if (now > notAfter.getTime()) throw ConfigErrors.CertificateExpired('client certificate', place, notAfter);
  if (now < notBefore.getTime()) throw ConfigErrors.CertificateNotYetValid('client certificate', place, notBefore);
}

function usable(tls: TlsMaterial, caPlace: string, certPlace: string): void {
  // A text without a certificate would become an empty trust store, and the first handshake would fail without a clear reason.
  if (tls.ca !== undefined && !tls.ca.includes('-----BEGIN CERTIFICATE-----')) {
    throw ConfigErrors.BadCertificate('certificate authority', caPlace, 'it holds no certificate');
  }
  try {
    contextOf({ ca: tls.ca, insecure: true });
  } catch (cause) {
    throw ConfigErrors.BadCertificate('certificate authority', caPlace, reasonOf(cause));
  }
  if (tls.cert === undefined) return;
  try {
    contextOf({ ...tls, insecure: true });
  } catch (cause) {
    throw ConfigErrors.KeyMismatch('client certificate', certPlace, cause);
  }
}

function loginHeaders({ username, password }: UserEntry, token: string | undefined): Record<string, string> {
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  if (username === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` };
}

function impersonationHeaders(as: Impersonation | undefined): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  if (as?.user !== undefined) headers['impersonate-user'] = as.user;
  if (as?.uid !== undefined) headers['impersonate-uid'] = as.uid;
  if (as?.groups !== undefined && as.groups.length > 0) headers['impersonate-group'] = as.groups;
  for (const [key, values] of Object.entries(as?.extra ?? {})) {
    // Escape characters that header names may not contain (RFC 7230).
    headers[`impersonate-extra-${encodeURIComponent(key).toLowerCase()}`] = values;
  }
  return headers;
}

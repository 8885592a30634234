import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { ANONYMOUS, type Credentials } from '../auth/authenticate.ts';
import type { Impersonated } from '../auth/impersonation.ts';
import type { UserInfo } from '../core.ts';
import { unauthorized } from '../errors.ts';
import type { ApiServer } from '../server.ts';

/** The paths that need no credentials: load balancers and scripts that wait for the server request them. */
const PUBLIC = /^\/(healthz|livez|readyz|version)\/?$/;

/** Who sends a request, and as whom it acts. Throws Unauthorized, or Forbidden where he may not act as that user. */
export type Identify = (message: IncomingMessage, server: ApiServer, path: string) => UserInfo;

export function createIdentifier(): Identify {
  // Reading a certificate takes as long as a small request: once a connection is enough.
  const subjects = new WeakMap<TLSSocket, { certificate: Credentials['certificate'] }>();
  const certificateOf = (socket: TLSSocket) => {
    let known = subjects.get(socket);
    if (!known) {
      known = { certificate: socket.authorized ? readSubject(socket) : undefined };
      subjects.set(socket, known);
    }
    return known.certificate;
  };

  return (message, server, path) => {
    const { socket, headers } = message;
    const bearerToken = /^Bearer\s+(.+)$/i.exec(headers.authorization ?? '')?.[1]?.trim();
    const certificate = socket instanceof TLSSocket ? certificateOf(socket) : undefined;
    const user = server.authenticator.authenticate({
      ...(certificate && { certificate }),
      ...(bearerToken !== undefined && { bearerToken }),
    });
    if (user) return server.impersonate(user, impersonatedBy(message));
    const isAnonymous = certificate === undefined && bearerToken === undefined;
    if (isAnonymous && PUBLIC.test(path)) return ANONYMOUS;
    throw unauthorized();
  };
}

function readSubject(socket: TLSSocket): Credentials['certificate'] {
  const { subject, fingerprint256 = '' } = socket.getPeerCertificate() as {
    subject?: { CN?: string | string[]; O?: string | string[] };
    fingerprint256?: string;
  };
  if (!subject) return undefined;
  const sha256 = fingerprint256.replaceAll(':', '').toLowerCase();
  return { commonName: listOf(subject.CN).at(-1) ?? '', organizations: listOf(subject.O), sha256 };
}

const listOf = (value: string | readonly string[] | undefined): readonly string[] =>
  typeof value === 'string' ? [value] : (value ?? []);

const EXTRA = 'impersonate-extra-';

/** From the raw headers: a group's name may hold a comma, so joined headers cannot be distinguished again. */
function impersonatedBy(message: IncomingMessage): Impersonated {
  // Node builds the lists of all headers when they are first read.
  if (!Object.keys(message.headers).some((name) => name.startsWith('impersonate-'))) return {};
  const { headersDistinct } = message;
  const [user] = headersDistinct['impersonate-user'] ?? [];
  const [uid] = headersDistinct['impersonate-uid'] ?? [];
  const groups = headersDistinct['impersonate-group'];
  const extra = Object.entries(headersDistinct)
    .filter(([name]) => name.startsWith(EXTRA))
    .map(([name, values]) => [unescaped(name.slice(EXTRA.length)), values ?? []] as const);
  return {
    ...(user !== undefined && { user }),
    ...(uid !== undefined && { uid }),
    ...(groups && { groups }),
    ...(extra.length > 0 && { extra: Object.fromEntries(extra) }),
  };
}

function unescaped(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

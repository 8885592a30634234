// What the transport needs to know about who we are. Implementations: config/user-credentials.ts (kubeconfig users and
// service accounts, with files that are read again and plugins that are run again).

export interface Credentials {
  /** What to send now. At once while nothing can have changed; else it may read files or run a program. */
  current(): Identity | Promise<Identity>;
  /** The server answered 401 to this identity. Resolves to true when `current` now gives another one, worth one more try. */
  refused(identity: Identity): Promise<boolean>;
  /** Ends what still runs (an exec plugin). */
  close(): Promise<void>;
}

export interface Identity {
  /** Authorization and impersonation. Names in lower case. */
  headers: Readonly<Record<string, string | string[]>>;
  /** The same object as long as nothing in it changed: connections are kept by it. */
  tls: TlsMaterial;
}

export interface TlsMaterial {
  /** PEM; the authorities of this machine when there is none. */
  ca?: string;
  /** PEM, leaf first. */
  cert?: string;
  /** PEM. */
  key?: string;
  /** The name to verify and to send as SNI, when it is not the host of the address. */
  serverName?: string;
  /** The server's certificate is not verified at all. */
  insecure?: boolean;
}

/** An identity that never changes. */
export function fixedCredentials(identity: Partial<Identity> = {}): Credentials {
  const fixed: Identity = { headers: identity.headers ?? {}, tls: identity.tls ?? {} };
  return { current: () => fixed, refused: async () => false, close: async () => {} };
}

// The identity of a client, as the transport needs it. config/user-credentials.ts implements it for kubeconfig users and service accounts,
// with files that are read again and plugins that are run again.

export interface Credentials {
  /**
   * Returns the identity to send now. It is returned at once if nothing can have changed; otherwise, files may be read or a program run.
   */
  current(): Identity | Promise<Identity>;
  /** Handles a 401 to this identity. Resolves to true if `current` now returns another identity, so that one retry is useful. */
  refused(identity: Identity): Promise<boolean>;
  /** Ends a running exec plugin. */
  close(): Promise<void>;
}

export interface Identity {
  /** The headers for authorization and impersonation, with names in lower case. */
  headers: Readonly<Record<string, string | string[]>>;
  /** The same object as long as its content is unchanged, because connections are keyed by it. */
  tls: TlsMaterial;
}

export interface TlsMaterial {
  /** PEM. Default: the authorities of this machine. */
  ca?: string;
  /** PEM, leaf first. */
  cert?: string;
  /** PEM. */
  key?: string;
  /** The name to verify and to send as SNI, if it differs from the host of the address. */
  serverName?: string;
  /** The server's certificate is not verified at all. */
  insecure?: boolean;
}

/** An identity that never changes. */
export function fixedCredentials(identity: Partial<Identity> = {}): Credentials {
  const fixed: Identity = { headers: identity.headers ?? {}, tls: identity.tls ?? {} };
  return { current: () => fixed, refused: async () => false, close: async () => {} };
}

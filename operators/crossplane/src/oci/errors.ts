// Every error about references, registries and images.
import { CodedError, catalogue, errorMakers } from '@capstan/kube';

export const ReferenceErrors = catalogue('crossplane', {
  BadReference: (text: string, problem: string) => ({
    message: `${JSON.stringify(text.slice(0, 300))} does not name an image: ${problem}`,
    remedy: 'write it as REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:DIGEST',
  }),
  BadPullSecret: (name: string, problem: string) => ({
    message: `the pull secret ${JSON.stringify(name)} cannot be used: ${problem}`,
    remedy: 'create it with kubectl create secret docker-registry',
  }),
  HelperFailed: (program: string, problem: string) => ({
    message: `the credential helper ${program} cannot be used: ${problem}`,
    remedy: 'install it, log in again, or remove it from the Docker configuration',
  }),
});

/** The classes of failures by the possible reaction: wait and retry, or report to a user. */
export type RegistryFailure =
  | 'not-found'
  | 'unauthorized'
  | 'denied'
  | 'too-many-requests'
  | 'unavailable'
  | 'timeout'
  | 'tls'
  | 'wrong-digest'
  | 'malformed'
  | 'too-large'
  | 'refused';

/** The registry refused a read or a write. */
export class RegistryError extends CodedError {
  readonly failure: RegistryFailure;
  /** Whether the same request can succeed later without anybody changing anything. */
  readonly isTemporary: boolean;
  /** The pause that the registry asked for, with too-many-requests and unavailable. */
  readonly retryAfterMs: number | undefined;

  constructor(
    failure: RegistryFailure,
    text: { message: string; remedy: string },
    options: ErrorOptions & { retryAfterMs?: number | undefined } = {},
  ) {
    super(`registry/${failure}`, text, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RegistryError';
    this.failure = failure;
    this.isTemporary = TEMPORARY.has(failure);
    this.retryAfterMs = options.retryAfterMs;
  }
}

// A tag that is not there may be pushed, a registry may come back; a certificate or a broken blob needs a person, but
// asking again now and then does no harm there either.
const TEMPORARY: ReadonlySet<RegistryFailure> = new Set(['too-many-requests', 'unavailable', 'timeout']);

interface RegistryErrorText {
  failure: RegistryFailure;
  message: string;
  remedy: string;
  cause?: unknown;
  retryAfterMs?: number | undefined;
}

export const RegistryErrors = errorMakers(
  {
    NotFound: (what: string): RegistryErrorText => ({
      failure: 'not-found',
      message: `${what} was not found`,
      remedy: 'check the name and the tag, and that it has been pushed',
    }),
    Unauthorized: (what: string, hadCredentials: boolean): RegistryErrorText => ({
      failure: 'unauthorized',
      message: `${what} is not given out: unauthorized (${hadCredentials ? 'the credentials were refused' : 'no credentials for this registry'})`,
      remedy: hadCredentials
        ? 'check the user and password in the pull secret'
        : 'name a pull secret for this registry',
    }),
    Denied: (what: string): RegistryErrorText => ({
      failure: 'denied',
      message: `${what} is not given out: access is denied`,
      remedy: 'check that the name is right and that the credentials may read it',
    }),
    TooManyRequests: (what: string, retryAfterMs: number | undefined): RegistryErrorText => ({
      failure: 'too-many-requests',
      message: `${what} was not given out: too many requests${retryAfterMs === undefined ? '' : `, come back in ${Math.ceil(retryAfterMs / 1000)} s`}`,
      remedy: 'wait, or name a pull secret whose limit is higher',
      retryAfterMs,
    }),
    Unavailable: (
      what: string,
      detail: string,
      retryAfterMs: number | undefined,
      cause?: unknown,
    ): RegistryErrorText => ({
      failure: 'unavailable',
      message: `${what} could not be reached: ${detail}`,
      remedy: 'check the registry and the network; it is tried again',
      retryAfterMs,
      cause,
    }),
    Timeout: (what: string, ms: number): RegistryErrorText => ({
      failure: 'timeout',
      message: `${what}: nothing came for ${Math.ceil(ms / 1000)} s`,
      remedy: 'check the registry and the network; it is tried again',
    }),
    Tls: (what: string, detail: string, cause?: unknown): RegistryErrorText => ({
      failure: 'tls',
      message: `${what}: no secure connection (${detail})`,
      remedy: 'pass the certificate authority of the registry with --ca-bundle-path, or fix its certificate',
      cause,
    }),
    WrongDigest: (what: string, expected: string, got: string): RegistryErrorText => ({
      failure: 'wrong-digest',
      message: `${what}: the registry sent other bytes than were asked for (wrong digest: expected ${expected}, got ${got})`,
      remedy: 'push it again, and check what lies between here and the registry',
    }),
    WrongSize: (what: string, expected: number, got: string): RegistryErrorText => ({
      failure: 'wrong-digest',
      message: `${what}: the registry sent ${got} bytes, and its manifest has ${expected}`,
      remedy: 'push it again, and check what lies between here and the registry',
    }),
    Malformed: (what: string, problem: string): RegistryErrorText => ({
      failure: 'malformed',
      message: `${what} cannot be used: ${problem}`,
      remedy: 'check that this is the address of an OCI registry and that the image is whole',
    }),
    TooLarge: (what: string, limit: number): RegistryErrorText => ({
      failure: 'too-large',
      message: `${what} is larger than ${limit} bytes`,
      remedy: 'check that this is the right image, or use a smaller one',
    }),
    Refused: (what: string, status: number, detail: string): RegistryErrorText => ({
      failure: 'refused',
      message: `${what}: the registry answered ${status}${detail === '' ? '' : ` (${detail})`}`,
      remedy: 'see the message of the registry; nothing was changed here',
    }),
  },
  (_key, { failure, message, remedy, retryAfterMs }, options) =>
    new RegistryError(failure, { message, remedy }, { ...options, retryAfterMs }),
);

// The closed set of problems, in the words of `status.errors[].type` and of metrics.

export type ProblemType =
  /** The remote side does not accept our credentials, or does not let them see enough. */
  | 'AuthFailed'
  /** The remote side did not answer, answered late or incompletely, or with a 5xx. The discovered objects stay. */
  | 'Unreachable'
  /** The credentials belong to another remote cluster than before. */
  | 'WrongCluster'
  | 'SecretMissing'
  | 'SecretInvalid'
  | 'BackendNameMismatch'
  /** The namespace does not exist here. Its objects are written as soon as it does. */
  | 'NamespaceMissing'
  | 'InvalidNamespace'
  | 'InvalidService'
  | 'ExternalNameUnsupported'
  /** An object of that name is another owner's. */
  | 'NameCollision'
  | 'EndpointInvalid'
  | 'LimitExceeded'
  | 'MassDeletionHeld'
  /** The remote side reports an error of the object. */
  | 'RemoteError'
  /** The local API server refuses or does not answer. */
  | 'WriteFailed';

export interface Problem {
  readonly type: ProblemType;
  /** The problem and its remedy, without secrets. */
  readonly message: string;
  /** The namespace of the object concerned. */
  readonly namespace?: string;
  readonly name?: string;
}

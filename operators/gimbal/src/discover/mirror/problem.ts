// What can be wrong, in the words that stand in `status.errors[].type` and in metrics: a closed set.

export type ProblemType =
  /** The remote side does not accept our credentials, or does not let them see enough. */
  | 'AuthFailed'
  /** No answer, none in time, none that is complete, or a 5xx. What was discovered stays. */
  | 'Unreachable'
  /** The credentials belong to another remote cluster than before. */
  | 'WrongCluster'
  | 'SecretMissing'
  | 'SecretInvalid'
  | 'BackendNameMismatch'
  /** The namespace is not here; what belongs there comes as soon as it is. */
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
  /** What is wrong and what to do, without secrets. */
  readonly message: string;
  /** Of the object concerned. */
  readonly namespace?: string;
  readonly name?: string;
}

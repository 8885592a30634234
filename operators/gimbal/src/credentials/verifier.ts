// Tries credentials out, as a fact: by a fresh login, because open sessions prove nothing about new credentials. A failure that may pass
// (no answer, a refusal that the other side can correct) throws and is retried with back-off. A lasting failure (a kubeconfig that cannot
// be read) is a value. The credentials are the fact's input: its key names them by a keyed digest.
import { reasonOf } from '@capstan/kube';
import { type FactDefinition, type FactState, fact } from '@capstan/reconcile';
import type { EffectiveBackend } from '../kinds/index.ts';
import type { SecretData } from './secret-data.ts';

export interface Login {
  readonly type: EffectiveBackend['type'];
  readonly data: SecretData;
  /** Instead of the address in the Secret. */
  readonly endpoint: string | undefined;
}

export type Verdict =
  | {
      readonly isGood: true;
      /** The identity of the remote cluster, if it can be read. It must stay the same when credentials change. */
      readonly identity: string | undefined;
    }
  | { readonly isGood: false; readonly message: string };

/** Logs in. Rejects with a LoginError where trying again may help. */
export type Verify = (login: Login, signal: AbortSignal) => Promise<Verdict>;

export type LoginProblem = 'AuthFailed' | 'Unreachable';

/** A login that did not work out this time. */
export class LoginError extends Error {
  readonly failure: LoginProblem;
  constructor(failure: LoginProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** One try: each round is a login of its own. */
export interface LoginAttempt {
  readonly login: Login;
  readonly round: 'first' | 'cutover';
}

export interface LoginFailure {
  readonly failure: LoginProblem;
  readonly message: string;
}

export type Verification = FactDefinition<Verdict, LoginAttempt, LoginFailure>;

const RETRY = { retryMs: 5_000, maxRetryMs: 300_000, timeoutMs: 45_000 };

export function createVerification(verify: Verify): Verification {
  return fact<Verdict, LoginAttempt, LoginFailure>({
    name: 'credentials',
    label: ({ login, round }) => `${round} ${login.type}`,
    fetch: ({ login }, { signal }) => verify(login, signal),
    errorOf: (error) => ({
      failure: error instanceof LoginError ? error.failure : 'Unreachable',
      message: reasonOf(error),
    }),
    ...RETRY,
  });
}

/** The result of an attempt. */
export type Outcome =
  | { readonly what: 'good'; readonly identity: string | undefined }
  | { readonly what: LoginProblem | 'SecretInvalid'; readonly message: string };

export function outcomeOf({ value, error }: FactState<Verdict, LoginFailure>): Outcome {
  if (error !== undefined) return { what: error.failure, message: error.message };
  if (value?.isGood === true) return { what: 'good', identity: value.identity };
  return { what: 'SecretInvalid', message: value?.message ?? 'nothing is known of it' };
}

// Trying credentials out, as a fact: a fresh login, which sessions that are open already prove nothing about. What may pass
// (no answer, a refusal that is mended on the other side) throws and is tried again with back-off; what cannot (a kubeconfig
// that is none) is a value. The key names the credentials by their keyed digest; what they are lies in the vault, and never in
// a key, a log or a status.
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
      /** Of the remote cluster, if it tells: what must stay the same when credentials change. */
      readonly identity: string | undefined;
    }
  | { readonly isGood: false; readonly message: string };

/** Logs in. Rejects with a LoginError where trying again may help. */
export type Verify = (login: Login, signal: AbortSignal) => Promise<Verdict>;

export type LoginTrouble = 'AuthFailed' | 'Unreachable';

/** A login that did not work out this time. */
export class LoginError extends Error {
  readonly trouble: LoginTrouble;
  constructor(trouble: LoginTrouble, message: string, options?: ErrorOptions) {
    super(message, options);
    this.trouble = trouble;
  }
}

export interface Verification {
  /** Keeps what is to be tried, under its digest. */
  offer(id: string, login: Login): void;
  readonly fact: FactDefinition<Verdict>;
  /** `round`: each is a login of its own. */
  key(id: string, round: 'first' | 'cutover'): string;
}

const RETRY = { retryMs: 5_000, maxRetryMs: 300_000, timeoutMs: 45_000 };

/** More backends than one cluster has; the least recently used go first. */
const LARGEST = 2_000;

export function createVerification(verify: Verify): Verification {
  const offered = new Map<string, Login>();
  return {
    offer(id, login) {
      offered.delete(id);
      offered.set(id, login);
      const [oldest] = offered.keys();
      if (offered.size > LARGEST && oldest !== undefined) offered.delete(oldest);
    },
    key: (id, round) => `${round} ${id}`,
    fact: fact({
      name: 'credentials',
      async fetch(key, { signal }) {
        const login = offered.get(key.slice(key.indexOf(' ') + 1));
        if (login === undefined) throw new LoginError('Unreachable', 'the credentials were forgotten meanwhile');
        try {
          return await verify(login, signal);
        } catch (error) {
          // Facts keep the text of an error alone; its kind goes in front.
          if (error instanceof LoginError) throw new Error(`${error.trouble}: ${error.message}`, { cause: error });
          throw error;
        }
      },
      ...RETRY,
    }),
  };
}

/** What an attempt came to. */
export type Outcome =
  | { readonly what: 'good'; readonly identity: string | undefined }
  | { readonly what: LoginTrouble | 'SecretInvalid'; readonly message: string };

export function outcomeOf({ value, error }: FactState<Verdict>): Outcome {
  if (error !== undefined) {
    const [, trouble, message] = /^(AuthFailed|Unreachable): (.*)$/s.exec(error) ?? [];
    return { what: trouble === 'AuthFailed' ? 'AuthFailed' : 'Unreachable', message: message ?? error };
  }
  if (value?.isGood === true) return { what: 'good', identity: value.identity };
  return { what: 'SecretInvalid', message: value?.message ?? 'nothing is known of it' };
}

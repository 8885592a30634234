// Credentials from the programs that `docker login` and others leave them to: `credHelpers` names one for a registry,
// `credsStore` one for all others. A helper is the program docker-credential-NAME; it is asked by `get` with the registry on its
// standard input and answers with JSON on its standard output, so that no secret is in an argument or a variable.
import { execFile } from 'node:child_process';
import { isRecord } from '@capstan/kube';
import { ReferenceErrors } from './errors.ts';
import { type Credentials, type Keychain, registryIn, type StaticKeychain } from './keychain.ts';

/** Runs the helper of that name for a registry; undefined when it knows nothing of it. Rejects when it cannot be run. */
export type AskHelper = (helper: string, server: string) => Promise<string | undefined>;

/** The credentials of a Docker configuration: those that a helper has come before those in the file, as for Docker itself. */
export function keychainWithHelpers(text: string, name: string, stored: StaticKeychain, ask: AskHelper): Keychain {
  const { helpers, store } = helpersIn(text);
  if (helpers.size === 0 && store === undefined) return stored;
  const known = new Map<string, Promise<Credentials | undefined>>();
  return async (registry, repository) => {
    const helper = helpers.get(registryIn(registry)) ?? store;
    if (helper === undefined) return stored(registry, repository);
    const asked =
      known.get(registry) ?? ask(helper, serverOf(registry)).then((detail) => credentialsOf(detail, helper, name));
    known.set(registry, asked);
    return (await asked) ?? stored(registry, repository);
  };
}

/** The system's helpers, found on the PATH of these variables. */
export function systemHelpers(env: Readonly<Record<string, string | undefined>>): AskHelper {
  return (helper, server) =>
    new Promise((resolve, reject) => {
      const program = `docker-credential-${helper}`;
      const child = execFile(
        program,
        ['get'],
        { env: { ...env }, timeout: HELPER_MS, maxBuffer: 65_536 },
        (error, detail) => {
          if (error === null) resolve(detail);
          // By its protocol a helper ends with 1 when it knows nothing; its words are not shown, they may hold anything.
          else if (error.code === 1) resolve(undefined);
          else
            reject(
              ReferenceErrors.HelperFailed(program, error.code === 'ENOENT' ? 'it is not there' : 'it did not answer'),
            );
        },
      );
      child.stdin?.on('error', () => {});
      child.stdin?.end(server);
    });
}

/** A helper may ask its user. */
const HELPER_MS = 60_000;
const NAME = /^[A-Za-z0-9._-]+$/;

function helpersIn(text: string): { helpers: Map<string, string>; store: string | undefined } {
  const config: unknown = JSON.parse(text);
  const { credHelpers, credsStore } = isRecord(config) ? config : {};
  const isName = (value: unknown): value is string => typeof value === 'string' && NAME.test(value);
  const pairs = isRecord(credHelpers) ? Object.entries(credHelpers) : [];
  return {
    helpers: new Map(pairs.flatMap(([host, helper]) => (isName(helper) ? [[registryIn(host), helper] as const] : []))),
    store: isName(credsStore) ? credsStore : undefined,
  };
}

/** Docker Hub's credentials are kept under the address of its first API. */
function serverOf(registry: string): string {
  return registryIn(registry) === 'index.docker.io' ? 'https://index.docker.io/v1/' : registry;
}

function credentialsOf(detail: string | undefined, helper: string, name: string): Credentials | undefined {
  if (detail === undefined) return undefined;
  let answer: unknown;
  try {
    answer = JSON.parse(detail);
  } catch {
    // Its message would quote the answer, which holds a password.
    throw ReferenceErrors.HelperFailed(`docker-credential-${helper}`, `its answer is not JSON (named in ${name})`);
  }
  const { Username: username, Secret: secret } = isRecord(answer) ? answer : {};
  if (typeof secret !== 'string' || secret === '') return undefined;
  if (username === '<token>') return { type: 'identity', token: secret };
  return { type: 'basic', username: typeof username === 'string' ? username : '', password: secret };
}

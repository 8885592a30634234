import { CodedError, catalogue, reasonOf } from '@capstan/kube/cluster';

/** Mistakes in a discoverer's command line, and in the credentials that it is given. */
export const DiscoverErrors = catalogue('gimbal-discover', {
  UnknownFlag: (type: string, flag: string) => ({
    message: `gimbal discover ${type} has no flag ${flag}`,
    remedy: `see gimbal discover ${type} --help`,
  }),
  UnknownType: (type: string | undefined) => ({
    message: type === undefined ? 'gimbal discover needs a type of backend' : `there is no backend of type "${type}"`,
    remedy: 'use gimbal discover kubernetes or gimbal discover openstack',
  }),
  UnknownSide: (type: string | undefined) => ({
    message:
      type === undefined ? 'gimbal rbac remote needs a type of backend' : `there is no backend of type "${type}"`,
    remedy: 'use gimbal rbac remote kubernetes or gimbal rbac remote openstack',
  }),
  NoValue: (flag: string) => ({ message: `--${flag} needs a value`, remedy: `give it as --${flag}=VALUE` }),
  BadValue: (flag: string, value: string, remedy: string) => ({
    message: `--${flag} cannot be ${JSON.stringify(value)}`,
    remedy,
  }),
  Missing: (flag: string, what: string) => ({
    message: `${what} is missing`,
    remedy: `give it with --${flag}`,
  }),
  BadBackendName: (name: string, problem: string) => ({
    message: `a backend cannot be called ${JSON.stringify(name)}: ${problem}`,
    remedy: 'give another name with --backend-name',
  }),
  TwoCredentials: () => ({
    message: 'both --credentials-dir and --discover-kubecfg-file are given',
    remedy: 'give one of them',
  }),
  SecretInEnvironment: (name: string) => ({
    message: `${name} is set: credentials are not taken from the environment, which other processes and crash reports can see`,
    remedy: 'unset it, mount the Secret as files, and give their folder with --credentials-dir',
  }),
  SecretMissing: (folder: string, cause: unknown) => ({
    cause,
    message: `the credentials in ${folder} cannot be read: ${reasonOf(cause)}`,
    remedy: 'mount the Secret of the backend there',
  }),
  KeyMissing: (folder: string, keys: readonly string[]) => ({
    message: `${secretAt(folder)} has none of the keys ${keys.join(', ')}`,
    remedy: `add ${keys[0]} to it`,
  }),
  HalfCredential: (folder: string, missing: string) => ({
    message: `${secretAt(folder)} has an application credential without ${missing}`,
    remedy: 'add the key, or use username, password and tenant-name',
  }),
  BadKey: (key: string, problem: string) => ({
    message: `the key ${key} of the Secret cannot be used: ${problem}`,
    remedy: 'correct it',
  }),
  AuthRefused: (address: string, detail: string) => ({
    message: `${address} does not accept the credentials: ${detail}`,
    remedy: 'correct them in the Secret, or renew them',
  }),
  NotInCatalog: (what: string, region: string | undefined) => ({
    message: `the cloud's catalog has no ${what} endpoint${region === undefined ? '' : ` in the region ${region}`}`,
    remedy: 'check the region, and that the service is registered',
  }),
  BadAnswer: (what: string, problem: string) => ({
    message: `the cloud's answer to ${what} cannot be used: ${problem}`,
    remedy: 'try again; if it persists, check the log of the service',
  }),
  WrongCloud: (found: string, expected: string) => ({
    message: `the credentials lead to another cloud (${found}) than before (${expected}): nothing is changed`,
    remedy: 'correct the Secret, or delete and recreate the backend',
  }),
  Refused: (what: string, status: number, detail: string) => ({
    message: `the cloud answered ${what} with ${status}: ${detail}`,
    remedy: 'grant what "gimbal rbac remote openstack" prints',
  }),
});

export function isCode(error: unknown, ...names: (keyof typeof DiscoverErrors)[]): error is CodedError {
  return error instanceof CodedError && names.some((name) => error.code === `gimbal-discover/${name}`);
}

/** Instead of a folder: a Secret that is not mounted anywhere. */
export const NOT_MOUNTED = 'the Secret';

function secretAt(folder: string): string {
  return folder === NOT_MOUNTED ? folder : `the Secret that is mounted at ${folder}`;
}

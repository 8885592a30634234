import { CodedError, catalogue } from '@capstan/kube/cluster';

/** A command line that cannot be meant: exit code 2. */
export const UsageErrors = catalogue('sesame/Usage', {
  UnknownCommand: (name: string) => ({ message: `there is no command "${name}"`, remedy: 'see sesame --help' }),
  UnknownFlag: (command: string, flag: string, near: string | undefined) => ({
    message: `sesame ${command} has no flag ${flag}`,
    remedy: near === undefined ? `see sesame ${command} --help` : `did you mean --${near}?`,
  }),
  NoValue: (flag: string, value: string) => ({ message: `${flag} needs a value`, remedy: `write ${flag}=${value}` }),
  BadValue: (flag: string, value: string, remedy: string) => ({ message: `${flag} cannot be "${value}"`, remedy }),
  TooMany: (command: string, argument: string) => ({
    message: `sesame ${command} does not know what to do with "${argument}"`,
    remedy: `see sesame ${command} --help`,
  }),
  Missing: (command: string, what: string, example: string) => ({
    message: `sesame ${command} needs ${what}`,
    remedy: `for example: ${example}`,
  }),
  Contradiction: (left: string, right: string, remedy: string) => ({
    message: `${left} and ${right} cannot be given together`,
    remedy,
  }),
});

export const CommandErrors = catalogue('sesame', {
  CannotRead: (path: string, reason: string) => ({
    message: `the file ${path} cannot be read: ${reason}`,
    remedy: 'check its name and permissions',
  }),
  CannotWrite: (path: string, reason: string) => ({
    message: `the file ${path} cannot be written: ${reason}`,
    remedy: 'check the folder and its permissions',
  }),
  Exists: (what: string) => ({ message: `${what} exists already`, remedy: 'give --overwrite to replace it' }),
  NoConfigMap: (namespace: string, name: string) => ({
    message: `ConfigMap ${namespace}/${name}: there is none`,
    remedy: 'name another with --config-map, or give a file',
  }),
});

export function isUsageError(error: unknown): boolean {
  return error instanceof CodedError && error.code.startsWith('sesame/Usage/');
}

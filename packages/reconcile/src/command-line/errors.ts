// Mistakes in the command itself: nothing has been done. Programs end with exit code 2.
import { CodedError, errorMakers } from '@capstan/kube/values';

/** The command was not understood; nothing has been done. */
export class UsageError extends CodedError {}

export const UsageErrors = errorMakers(
  {
    UnknownCommand: (program: string, name: string, near: string | undefined) => ({
      message: `there is no command "${name}"`,
      remedy: near === undefined ? `see ${program} --help` : `did you mean "${near}"?`,
    }),
    FlagFirst: (program: string, flag: string) => ({
      message: `${flag} comes before the command`,
      remedy: `write the command first, as in ${program} plan -f change.yaml`,
    }),
    UnknownFlag: (flag: string, command: string, near: string | undefined) => ({
      message: `${command} has no flag ${flag}`,
      remedy: near === undefined ? `see ${command} --help` : `did you mean ${near}?`,
    }),
    FlagWithoutValue: (flag: string, value: string) => ({
      message: `${flag} needs a value`,
      remedy: `give it as ${flag} ${value}`,
    }),
    NotBoolean: (flag: string, value: string) => ({
      message: `${flag} cannot be ${JSON.stringify(value)}`,
      remedy: `use ${flag}=true or ${flag}=false`,
    }),
    NotOneOf: (flag: string, value: string, allowed: readonly string[]) => ({
      message: `${flag} cannot be ${JSON.stringify(value)}`,
      remedy: `use one of ${allowed.join(', ')}`,
    }),
    Conflicting: (one: string, other: string) => ({
      message: `${one} and ${other} contradict each other`,
      remedy: 'give one of them',
    }),
    BadValue: (flag: string, value: string, remedy: string) => ({
      message: `${flag} cannot be ${JSON.stringify(value)}`,
      remedy,
    }),
    TooMany: (command: string, extra: string) => ({
      message: `${command} does not know what to do with ${JSON.stringify(extra)}`,
      remedy: `see ${command} --help`,
    }),
    Missing: (command: string, what: string, example: string) => ({
      message: `${command} needs ${what}`,
      remedy: `for example: ${example}`,
    }),
    UnknownOperatorFlag: (operator: string, flag: string, known: readonly string[], near: string | undefined) => ({
      message: `the operator "${operator}" has no flag ${flag}`,
      remedy: near === undefined ? `use one of ${known.join(', ')}` : `did you mean ${near}?`,
    }),
    UnknownOperator: (flag: string, name: string, known: readonly string[]) => ({
      message: `${flag} names the operator "${name}", which is not loaded`,
      remedy: known.length === 0 ? 'load it with --operator FILE' : `use one of ${known.join(', ')}`,
    }),
    NoOperatorFlags: (name: string, flag: string) => ({
      message: `the operator "${name}" takes no flags, and --${name}.${flag} was given`,
      remedy: 'leave it out, or declare it: operator({ flags, withFlags })',
    }),
  },
  (key, text, options) => new UsageError(`usage/${key}`, text, options),
);

// What is wrong with a command line of Sesame besides what every command line can have wrong.
import { errorMakers } from '@capstan/kube/values';
import { UsageError } from '@capstan/reconcile/command-line';

export const SesameUsage = errorMakers(
  {
    BadFlags: (problems: readonly string[]) => ({
      message: problems.join('; '),
      remedy: 'see sesame serve --help',
    }),
    Contradiction: (left: string, right: string, remedy: string) => ({
      message: `${left} and ${right} cannot be given together`,
      remedy,
    }),
  },
  (key, text, options) => new UsageError(`usage/${key}`, text, options),
);

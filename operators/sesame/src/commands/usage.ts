// The errors of a command line that only Sesame's commands have.
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

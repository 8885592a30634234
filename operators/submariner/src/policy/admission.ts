import { type AdmissionCheck, admissionCheck } from '@capstan/reconcile';
import { CablePolicies } from '../kinds/index.ts';
import { readPolicy } from './read-policy.ts';

/** Selectors, drivers and their options are read by code of our own: rules of a definition cannot express them. */
export const ADMISSION: readonly AdmissionCheck[] = [
  admissionCheck({
    kind: CablePolicies,
    check(object) {
      const { problems, warnings } = readPolicy(object);
      return { errors: problems.map(({ message }) => message), warnings };
    },
  }),
];

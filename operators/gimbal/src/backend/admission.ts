import { type AdmissionCheck, admissionCheck } from '@capstan/reconcile';
import { Discoverer, Discovery, DiscoveryBackend } from '../kinds/index.ts';
import { normalise } from './normalize.ts';

/** A backend under each of its names. */
export const ADMISSION: readonly AdmissionCheck[] = [DiscoveryBackend, Discoverer, Discovery].map((kind) =>
  admissionCheck({
    kind,
    check: (object) => ({
      errors: normalise(object as DiscoveryBackend).faults.map(({ path, message }) => `${path}: ${message}`),
    }),
  }),
);

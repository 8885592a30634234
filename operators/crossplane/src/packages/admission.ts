import { type AdmissionCheck, admissionCheck } from '@capstan/reconcile';
import { Configuration, FunctionPackage, Provider } from '../kinds/index.ts';
import type { PackageObject } from './package-kind.ts';
import { readReference } from './reference.ts';

/** Whether a name is one of an image does not depend on the registry that is the default. */
const ANY_REGISTRY = 'registry.example.com';

export const ADMISSION: readonly AdmissionCheck[] = [Provider, FunctionPackage, Configuration].map((kind) =>
  admissionCheck({
    kind,
    check(object) {
      const found = readReference((object as PackageObject).spec.package, ANY_REGISTRY);
      return { errors: 'problem' in found ? [`spec.package: ${found.problem}`] : [] };
    },
  }),
);

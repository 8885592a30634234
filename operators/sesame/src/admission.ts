// The checks of Sesame's objects before they are stored. An invalid configuration stops the Sesames that use it, so refusing it is kinder
// than reporting it.
import { type AdmissionCheck, admissionCheck } from '@capstan/reconcile';
import { effectiveConfiguration } from './configuration/effective.ts';
import { problemText } from './configuration/problem.ts';
import { SesameConfiguration, SesameDeployment } from './kinds/index.ts';
import { deploymentMeaning } from './reconcilers/sesame-deployment.ts';
import { HTTP_PROXY_ADMISSION } from './routing/admission.ts';

export const ADMISSION: readonly AdmissionCheck[] = [
  admissionCheck({
    kind: SesameConfiguration,
    check({ spec }) {
      const { errors, warnings } = effectiveConfiguration({ given: spec });
      return { errors: errors.map((one) => problemText(one)), warnings: warnings.map((one) => problemText(one)) };
    },
  }),
  admissionCheck({
    kind: SesameDeployment,
    check({ metadata, spec }) {
      const id = { name: metadata.name ?? '', namespace: metadata.namespace ?? '' };
      const { errors, warnings } = deploymentMeaning(spec ?? {}, id);
      return { errors: errors.map((one) => problemText(one)), warnings: warnings.map((one) => problemText(one)) };
    },
  }),
  HTTP_PROXY_ADMISSION,
];

// Checks objects before they are stored. The checks report the problems that the reconcilers would find in the object alone.
import { isJsonObject } from '@capstan/kube';
import { type AdmissionCheck, admissionCheck } from '@capstan/reconcile';
import { validateBootstrapServers, validateNetwork } from './configuration/validate.ts';
import type { Fault } from './configuration/validate-value.ts';
import { interpolate } from './interpolation/placeholder.ts';
import { KafkaProtocolFilter, KafkaProxy, KafkaService, KroxyliciousSidecarConfig } from './kinds/index.ts';
import { sidecarProblems } from './sidecar/validate.ts';

export const ADMISSION: readonly AdmissionCheck[] = [
  admissionCheck({
    kind: KafkaProxy,
    check: ({ spec }) => ({
      errors: spec?.network === undefined ? [] : validateNetwork(spec.network, 'spec.network').map(text),
    }),
  }),
  admissionCheck({
    kind: KafkaService,
    check: ({ spec }) => ({
      errors:
        spec.bootstrapServers === undefined || spec.strimziKafkaRef !== undefined
          ? []
          : validateBootstrapServers(spec.bootstrapServers, 'spec.bootstrapServers').map(text),
    }),
  }),
  admissionCheck({
    kind: KafkaProtocolFilter,
    check({ spec: { configTemplate } }) {
      const { faults } = interpolate(isJsonObject(configTemplate) ? configTemplate : {}, () => '');
      return { errors: faults.map(({ path, problem }) => `spec.configTemplate${path}: ${problem}`) };
    },
  }),
  admissionCheck({
    kind: KroxyliciousSidecarConfig,
    check: ({ spec }) => ({ errors: sidecarProblems(spec) }),
  }),
];

function text({ path, problem }: Fault): string {
  return `${path}: ${problem}`;
}

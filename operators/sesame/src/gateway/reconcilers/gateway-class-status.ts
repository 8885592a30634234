// A GatewayClass of ours is accepted, and lists the supported features.

import type { Kind } from '@capstan/kube';
import {
  type ConditionInput,
  plan,
  type ReadDeclaration,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
} from '@capstan/reconcile';
import { SUPPORTED_FEATURES } from '../api/features.ts';
import { condition } from '../api/nested-conditions.ts';
import type { GatewayClass } from '../api/objects.ts';

export interface GatewayClassStatusOptions {
  readonly kind: Kind<GatewayClass>;
  /** The reads of the check of parameters; none by default. */
  readonly reads?: readonly (Kind | ReadDeclaration)[];
  isOurs(read: Reader, controllerName: string): boolean;
  /** Returns the problem of the class's parameters, or undefined. */
  parametersProblem?(read: Reader, spec: GatewayClass['spec']): string | undefined;
  readonly features?: readonly string[];
}

export function gatewayClassStatus(options: GatewayClassStatusOptions): Reconciler {
  const { kind, reads = [], isOurs, parametersProblem, features = SUPPORTED_FEATURES } = options;
  return reconciler<GatewayClass>({
    name: 'gateway-class-status',
    resource: kind,
    reads: [reading(kind, 'everywhere', { optional: true }), ...reads],
    writesStatus: true,
    primary: false,
    reconcile({ object, read }) {
      if (!isOurs(read, object.spec.controllerName)) return plan({});
      const problem = parametersProblem?.(read, object.spec);
      const accepted: ConditionInput =
        problem === undefined
          ? condition('Accepted', true, 'Accepted', 'Valid GatewayClass')
          : condition('Accepted', false, 'InvalidParameters', problem);
      return plan({
        conditions: [
          accepted,
          condition('SupportedVersion', true, 'SupportedVersion', 'The versions of the Gateway API are supported'),
        ],
        status: { supportedFeatures: features.map((name) => ({ name })) },
      });
    },
  });
}

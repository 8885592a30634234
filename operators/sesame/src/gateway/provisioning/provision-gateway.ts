// An instance for each Gateway of our classes: a SesameDeployment that serves that Gateway alone, with the parameters of the class
// or of the Gateway itself. The operator makes the rest from it, as from any other SesameDeployment.
import { childNameWithin, type Kind } from '@capstan/kube';
import { apply, plan, type Reader, type Reconciler, reading, reconciler } from '@capstan/reconcile';
import { SesameDeployment, type SesameDeploymentSpec } from '../../kinds/index.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { condition } from '../api/nested-conditions.ts';
import type { Gateway, GatewayClass, GatewayKinds } from '../api/objects.ts';

export interface ProvisionerOptions {
  readonly kinds: GatewayKinds;
  /** Whose classes are ours. */
  readonly controllerName: string;
}

/** The longest name of a SesameDeployment. */
export const MAX_DEPLOYMENT_NAME = 49;

export function provisionGateway({ kinds, controllerName }: ProvisionerOptions): Reconciler {
  return reconciler<Gateway>({
    name: 'gateway-provisioner',
    resource: kinds.Gateway,
    reads: [
      reading(kinds.Gateway, 'everywhere', { optional: true }),
      reading(kinds.GatewayClass, 'everywhere', { optional: true }),
      reading(SesameDeployment, 'everywhere'),
    ],
    writes: [SesameDeployment],
    writesStatus: true,
    // Its children are in the namespace of the Gateway, and are collected with it.
    finalizer: false,
    primary: false,
    reconcile({ object, read }) {
      const spec = classOf(read, kinds.GatewayClass, object.spec.gatewayClassName);
      // The children for a class that is gone or no longer ours are removed, because the plan does not mention them.
      if (spec?.controllerName !== controllerName) return plan({});
      const { name = '', namespace = '' } = object.metadata;
      const parameters = parametersOf(read, object, spec);
      if (!parameters.isOk) return refused(parameters.problem);
      return plan({
        children: [
          apply(SesameDeployment, {
            metadata: { namespace, name: childNameWithin(MAX_DEPLOYMENT_NAME, name) },
            spec: instanceSpec(parameters.value, { namespace, name }),
          }),
        ],
      });
    },
  });
}

function refused(message: string) {
  return plan({
    prune: false,
    conditions: [
      condition('Accepted', false, 'InvalidParameters', message),
      condition('Programmed', false, 'Invalid', message),
    ],
  });
}

const specOf = <S>({ spec }: { readonly spec: S }): S => spec;

function classOf(read: Reader, kind: Kind<GatewayClass>, name: string): GatewayClass['spec'] | undefined {
  return read.access(kind) === 'served' ? read.get(kind, { name }, specOf) : undefined;
}

export interface ParametersRef {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** The Gateway's own parameters win over those of its class. */
function parametersOf(
  read: Reader,
  gateway: Gateway,
  { parametersRef }: GatewayClass['spec'],
): Result<SesameDeploymentSpec> {
  const own = gateway.spec.infrastructure?.parametersRef;
  const ref = own ? { ...own, namespace: gateway.metadata.namespace } : parametersRef;
  return ref ? readParameters(read, ref) : accept({});
}

export function readParameters(read: Reader, ref: ParametersRef): Result<SesameDeploymentSpec> {
  const where = `${ref.kind} ${ref.namespace ?? ''}/${ref.name}`;
  if (ref.group !== SesameDeployment.group || ref.kind !== SesameDeployment.kind)
    return refuse(`parametersRef: ${where} of group ${ref.group} is not supported; name a SesameDeployment`);
  if (!ref.namespace) return refuse(`parametersRef: ${where} has no namespace; give one`);
  const found = read.get(SesameDeployment, { namespace: ref.namespace, name: ref.name }, givenSpec);
  return found === undefined ? refuse(`parametersRef: ${where} not found; create it`) : accept(found);
}

const givenSpec = ({ spec }: SesameDeployment): SesameDeploymentSpec => spec ?? {};

function instanceSpec(
  parameters: SesameDeploymentSpec,
  gatewayRef: { namespace: string; name: string },
): SesameDeploymentSpec {
  const { gateway: _gateway, ...configuration } = parameters.configuration ?? {};
  return { ...parameters, configuration: { ...configuration, gateway: { gatewayRef } } };
}

import type { UnknownObject } from '@capstan/kube';
import type { AdmissionRequest, RequestContext, UnknownOptions } from '../core.ts';
import type { DeleteOptions } from './delete.ts';
import type { WriteOptions } from './options.ts';
import type { Target } from './target.ts';

export interface AskedWrite {
  object?: UnknownObject;
  old?: UnknownObject;
  options: Partial<Pick<WriteOptions, 'fieldManager' | 'fieldValidation'> & DeleteOptions> & { dryRun: boolean };
  context: RequestContext;
}

/** A write as admissions are asked about it. */
export function admissionRequest(
  target: Target,
  operation: AdmissionRequest['operation'],
  { object, old, options, context }: AskedWrite,
): AdmissionRequest {
  const { resource, version, subresource } = target;
  const name = target.name === '' ? (object?.metadata.name ?? '') : target.name;
  // A namespace counts as being within itself.
  const namespace = resource.storageKey === '/namespaces' ? name : target.namespace;
  return {
    operation,
    resource,
    version,
    namespace,
    name,
    subresource: subresource === '' ? undefined : subresource,
    object,
    old,
    dryRun: options.dryRun,
    options: optionsOf(operation, options),
    context,
  };
}

const OPTION_KINDS = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' };

function optionsOf(operation: AdmissionRequest['operation'], options: AskedWrite['options']): UnknownOptions {
  const { dryRun, fieldManager, fieldValidation, gracePeriodSeconds, propagationPolicy, uid, resourceVersion } =
    options;
  const preconditions = {
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
  return {
    kind: OPTION_KINDS[operation],
    apiVersion: 'meta.k8s.io/v1',
    ...(dryRun && { dryRun: ['All'] }),
    ...(fieldManager !== undefined && { fieldManager }),
    ...(fieldValidation !== undefined && { fieldValidation }),
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(propagationPolicy !== undefined && { propagationPolicy }),
    ...(Object.keys(preconditions).length > 0 && { preconditions }),
  };
}

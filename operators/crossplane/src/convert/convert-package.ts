// A package whose controllerConfigRef becomes a runtimeConfigRef, and which takes over the pull settings of its ControllerConfig.
import { isJsonObject, type JsonObject } from '@capstan/kube';
import { type ConfigReference, isDefaultReference } from '../runtime/stages.ts';
import { namesIn, objectIn } from './manifest.ts';

/** A change to a package. */
export interface PackageChange {
  readonly reference: { readonly apiVersion: string; readonly kind: string; readonly name: string };
  /** Undefined: it stays as it is. */
  readonly packagePullPolicy?: string;
  /** Names that are added. */
  readonly packagePullSecrets: readonly string[];
}

/** The package as it is after the conversion. */
export function convertPackage(value: JsonObject, change: PackageChange): JsonObject {
  const { controllerConfigRef: _gone, ...spec } = objectIn(value, 'spec');
  const secrets = Array.isArray(spec['packagePullSecrets']) ? (spec['packagePullSecrets'] as unknown[]) : [];
  return {
    ...value,
    spec: {
      ...spec,
      ...(change.packagePullPolicy !== undefined && { packagePullPolicy: change.packagePullPolicy }),
      ...(change.packagePullSecrets.length > 0 && {
        packagePullSecrets: [...secrets, ...change.packagePullSecrets.map((name) => ({ name }))],
      }),
      runtimeConfigRef: { ...objectIn(spec, 'runtimeConfigRef'), ...change.reference },
    },
  };
}

/** The name of the ControllerConfig that a package refers to. */
export function controllerConfigOf(value: JsonObject): string | undefined {
  const { name } = objectIn(value, 'spec', 'controllerConfigRef');
  return typeof name === 'string' && name !== '' ? name : undefined;
}

/** A runtimeConfigRef beside it that means something: which of the two counted depends on how Crossplane was started. */
export function rivalReference(value: JsonObject): ConfigReference | undefined {
  const ref = objectIn(value, 'spec')['runtimeConfigRef'];
  if (!isJsonObject(ref) || typeof ref['name'] !== 'string') return undefined;
  const text = (part: unknown) => (typeof part === 'string' && part !== '' ? part : undefined);
  const apiVersion = text(ref['apiVersion']);
  const kind = text(ref['kind']);
  const reference = { name: ref['name'], ...(apiVersion && { apiVersion }), ...(kind && { kind }) };
  return isDefaultReference(reference) ? undefined : reference;
}

/** Pull secrets of a ControllerConfig that a package does not have yet. */
export function missingPullSecrets(value: JsonObject, controllerConfig: JsonObject): string[] {
  const there = new Set(namesIn(objectIn(value, 'spec')['packagePullSecrets']));
  const wanted = new Set(namesIn(objectIn(controllerConfig, 'spec')['imagePullSecrets']));
  return [...wanted].filter((name) => !there.has(name));
}

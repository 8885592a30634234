// The names that the package manager takes in pods, by kind of package.
import type { EnvVar, JsonObject } from '@capstan/kube';
import { isJsonObject } from '@capstan/kube';
import type { RuntimeKind } from '../runtime/render/labels.ts';
import { managedEnv } from '../runtime/render/render-deployment.ts';
import { namesIn, objectIn } from './manifest.ts';

/** Returns the variables that the manager sets in a runtime of that kind, with placeholders for values that differ between revisions. */
export function managedEnvOf(kind: RuntimeKind): EnvVar[] {
  const secrets =
    kind === 'Provider' ? { tlsClientSecretName: '', tlsServerSecretName: '' } : { tlsServerSecretName: '' };
  return managedEnv({ kind, packageName: '', name: '', uid: '', image: '', pullSecrets: [], ...secrets });
}

/**
 * The manager's variables that variables of a ControllerConfig refer to, `$(POD_NAMESPACE)` for one. A ControllerConfig's
 * came after the manager's; a template's come before, and a variable can only refer to one before it. Where a template
 * names one of the manager's, the manager puts its own in that place.
 */
export function referredEnv(controllerConfig: JsonObject, kinds: readonly RuntimeKind[]): JsonObject[] {
  const env = objectIn(controllerConfig, 'spec')['env'];
  const own = new Set(namesIn(env));
  const referred = referencesIn(env);
  const managed = new Map(kinds.flatMap(managedEnvOf).map((entry) => [entry.name, entry]));
  return [...managed.values()]
    .filter((entry) => referred.has(entry.name) && !own.has(entry.name) && !isReferring(entry))
    .map((entry) => ({ ...entry }));
}

/** Names that the values of variables refer to. */
export function referencesIn(env: unknown): Set<string> {
  if (!Array.isArray(env)) return new Set();
  return new Set(
    env.flatMap((entry: unknown) => {
      const value = isJsonObject(entry) ? entry['value'] : undefined;
      return typeof value === 'string' ? [...value.matchAll(/\$\(([^)]+)\)/g)].map(([, name = '']) => name) : [];
    }),
  );
}

/** These always come last, because they refer to others. */
export function isReferring({ value = '' }: EnvVar): boolean {
  return value.startsWith('$(');
}

import type { RuntimeKind } from '../runtime/render/labels.ts';
import { controllerConfigOf } from './convert-package.ts';
import { type Manifest, nameOf, objectIn, roleOf } from './manifest.ts';

/** A package that refers to a ControllerConfig. */
export interface User {
  readonly manifest: Manifest;
  readonly kind: RuntimeKind;
  /** `Provider/provider-example`. */
  readonly id: string;
}

export function usersIn(manifests: readonly Manifest[]): User[] {
  return manifests.flatMap((manifest): User[] => {
    const role = roleOf(manifest.value);
    if ((role !== 'Provider' && role !== 'Function') || controllerConfigOf(manifest.value) === undefined) return [];
    return [{ manifest, kind: role, id: `${role}/${nameOf(manifest.value)}` }];
  });
}

/** The pull policy of a package that sets none. */
export const DEFAULT_PULL_POLICY = 'IfNotPresent';

/** The pull policy that a package has on purpose; servers write the default into every package. */
export function ownPullPolicy({ manifest: { value } }: User): string | undefined {
  const policy = objectIn(value, 'spec')['packagePullPolicy'];
  return typeof policy === 'string' && policy !== '' && policy !== DEFAULT_PULL_POLICY ? policy : undefined;
}

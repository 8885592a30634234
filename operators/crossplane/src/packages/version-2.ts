// The differences of version 2 of Crossplane, for users who start the manager with `--crossplane-version=2…`.
import type { Settings } from '../settings.ts';
import { parseVersion } from '../xpkg/semver.ts';

export function followsVersion2({ version }: Pick<Settings, 'version'>): boolean {
  return (parseVersion(version)?.major ?? 0) >= 2;
}

/** Version 2 has no default registry: an image names a host with a dot, a repository, and a tag or digest. */
const QUALIFIED = /^[^/.]+(?:\.[^/.]+)+(?::\d+)?(?:\/[^/:@]+)+(?::[^/:@]+)?(?:@sha256:[0-9a-f]{64})?$/;

/** Returns the problem of an image that version 2 does not accept. */
export function unqualified(image: string, settings: Pick<Settings, 'version' | 'registry'>): string | undefined {
  const isWhole = QUALIFIED.test(image) && (/:[^/:@]+$/.test(image) || image.includes('@') || /:[^/:@]+@/.test(image));
  if (isWhole || !followsVersion2(settings)) return undefined;
  return `spec.package ${image} is not fully qualified, as Crossplane ${settings.version} asks for; name its registry and a tag or digest, such as ${settings.registry}/${image.replace(/[:@].*/, '')}:v1.0.0`;
}

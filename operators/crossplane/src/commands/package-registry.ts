// Where the program takes packages from: registries, through a proxy if the environment names one, with a cache on disk.
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { FlagValues } from '@capstan/reconcile/command-line';
import type { TrustFiles } from '../cosign/index.ts';
import type { PackageSource } from '../facts/package-source.ts';
import { createRegistrySource } from '../facts/registry-source.ts';
import { proxyOf } from '../oci/proxy.ts';
import type { FLAGS } from './flags.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function registrySourceOf(values: FlagValues<typeof FLAGS>, env: Environment): PackageSource {
  const proxy = proxyOf(env);
  const { 'ca-bundle-path': caBundlePath, 'user-agent': userAgent } = values;
  return createRegistrySource({
    cacheDir: values['xpkg-cache-dir'] ?? cacheDir(env),
    registry: values.registry,
    ...(proxy && { proxy }),
    ...(caBundlePath !== undefined && { caBundlePath }),
    ...(userAgent !== undefined && { userAgent }),
    trust: trustFilesOf(values),
  });
}

function trustFilesOf(values: FlagValues<typeof FLAGS>): TrustFiles {
  const {
    'sigstore-trusted-root': trustedRoot,
    'fulcio-root': fulcio,
    'rekor-public-key': rekor,
    'ctlog-public-key': ctlog,
  } = values;
  return {
    ...(trustedRoot && { trustedRoot }),
    ...(fulcio && { fulcio }),
    ...(rekor && { rekor }),
    ...(ctlog && { ctlog }),
  };
}

function cacheDir(env: Environment): string {
  if (env['KUBERNETES_SERVICE_HOST']) return '/cache/xpkg';
  const home = env['HOME'] || homedir();
  return join(env['XDG_CACHE_HOME'] || join(home, '.cache'), 'capstan', 'xpkg');
}

// How a command reaches registries: certificates, and the credentials that `docker login` and others keep in
// config.json, or leave to credential helpers that it names.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Ask, createRegistryClient, type RegistryClient } from '../../oci/client.ts';
import { keychainWithHelpers, systemHelpers } from '../../oci/credential-helpers.ts';
import { anonymous, type Keychain, keychainOfDockerConfig } from '../../oci/keychain.ts';
import { proxyOf } from '../../oci/proxy.ts';
import type { XpkgArgs, XpkgFlag, XpkgIo } from './command.ts';

export const REGISTRY_FLAGS: Readonly<Record<string, XpkgFlag>> = {
  'ca-bundle-path': { type: 'string', value: 'FILE', help: 'Certificate authorities to trust beside the system’s.' },
  'insecure-skip-tls-verify': { type: 'boolean', help: 'Trust any certificate. For one’s own machine only.' },
};

export const DEFAULT_REGISTRY = 'xpkg.crossplane.io';

/** A client for the time of a command; to be closed. */
export async function clientFor(args: XpkgArgs, io: XpkgIo): Promise<{ client: RegistryClient; ask: Ask }> {
  const bundle = args.text('ca-bundle-path');
  const proxy = proxyOf(io.env);
  const client = createRegistryClient({
    ...(bundle !== undefined && { caBundlePath: resolve(io.cwd, bundle) }),
    ...(args.is('insecure-skip-tls-verify') && { skipTlsVerify: true }),
    ...(proxy && { proxy }),
  });
  return { client, ask: { keychain: await dockerKeychain(io), signal: io.signal } };
}

async function dockerKeychain({ env, cwd }: XpkgIo): Promise<Keychain> {
  const folder = env['DOCKER_CONFIG'] ?? (env['HOME'] === undefined ? undefined : join(env['HOME'], '.docker'));
  if (folder === undefined) return anonymous;
  const path = resolve(cwd, folder, 'config.json');
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return anonymous;
  return keychainWithHelpers(text, path, keychainOfDockerConfig(text, path), systemHelpers(env));
}

// Our own registry, used by a foreign client: skopeo gets back the image that it pushed.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type RegistryAccess, startRegistry } from '../../src/registry/index.ts';
import { buildPackage, imageFileBytes, inspectImage, openImageFile } from '../../src/xpkg/index.ts';
import { skipSkopeo, skopeoMeanwhile, USER } from './registry.ts';

const home = mkdtempSync(join(tmpdir(), 'capstan-own-registry-'));
after(() => rmSync(home, { recursive: true }));
const meta = 'apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p}\n';
const users = { [USER.username]: USER.password };

describe('our own registry and skopeo', { skip: skipSkopeo }, () => {
  for (const access of [
    { type: 'open' },
    { type: 'basic', users },
    { type: 'token', users },
  ] satisfies RegistryAccess[])
    test(`understand each other with ${access.type} access`, async () => {
      const { image } = await buildPackage({ files: [{ name: 'crossplane.yaml', bytes: Buffer.from(meta) }] });
      const [from, to] = [join(home, `${access.type}.xpkg`), join(home, `${access.type}.tar`)];
      await writeFile(from, imageFileBytes(image));
      const registry = await startRegistry({ access });
      const auth = Buffer.from(`${USER.username}:${USER.password}`).toString('base64');
      const authFile = join(home, 'auth.json');
      writeFileSync(authFile, JSON.stringify({ auths: { [registry.address]: { auth } } }));
      try {
        const name = `docker://${registry.address}/acme/p:v1`;
        await skopeoMeanwhile('copy', '--authfile', authFile, '--dest-tls-verify=false', `oci-archive:${from}`, name);
        const seen = await skopeoMeanwhile('inspect', '--authfile', authFile, '--tls-verify=false', name);
        assert.equal((JSON.parse(seen) as { Digest: string }).Digest, image.digest);
        const tags = await skopeoMeanwhile(
          'list-tags',
          '--authfile',
          authFile,
          '--tls-verify=false',
          name.replace(/:v1$/, ''),
        );
        assert.deepEqual((JSON.parse(tags) as { Tags: string[] }).Tags, ['v1']);
        await skopeoMeanwhile('copy', '--authfile', authFile, '--src-tls-verify=false', name, `oci-archive:${to}`);
        const back = await openImageFile(to);
        assert.equal((await inspectImage(back)).meta.name, 'p');
        await back.close();
      } finally {
        await registry.close();
      }
    });
});

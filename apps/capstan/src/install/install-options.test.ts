import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runTest } from '../cli/test-io.test-support.ts';

const print = (image: string) => runTest(['install', '-o', 'yaml', '--operators', 'gimbal', '--image', image]);

for (const image of [
  'capstan',
  'capstan:0.1.0',
  'localhost:5000/team/capstan:v1.2_3',
  'registry.example.com/a/b__c/capstan-x',
  `Registry.example.com/capstan:1@sha256:${'0'.repeat(64)}`,
])
  test(`the image ${image} is taken as it stands`, async () => {
    const { code, out, err } = await print(image);
    assert.equal(code, 0, err);
    assert.ok(out.includes(`image: ${image}\n`) || out.includes(`image: "${image}"\n`), out.slice(-2000));
  });

for (const image of [
  'bad image',
  'Capstan:1',
  'capstan:',
  'capstan@sha256:12',
  '',
  'https://example.com/capstan',
  'a//b',
  '-x',
])
  test(`"${image}" is refused as the name of an image`, async () => {
    const { code, out, err } = await print(image);
    assert.equal(code, 2, out.slice(0, 300));
    assert.match(err, /--image (?:cannot be|needs a value).*; (?:write REGISTRY\/NAME:TAG|give it as)/);
  });

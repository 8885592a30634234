import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ImageConfig } from '../kinds/index.ts';
import { selectSettings } from './image-settings.ts';

const config = (name: string, prefixes: string[], spec: object) => ({
  name,
  spec: { matchImages: prefixes.map((prefix) => ({ type: 'Prefix', prefix })), ...spec } as ImageConfig['spec'],
});
const secret = (name: string) => ({ registry: { authentication: { pullSecretRef: { name } } } });

describe('ImageConfigs', () => {
  test('count by their longest prefix, each purpose for itself', () => {
    const configs = [
      config('wide', ['r.example'], secret('wide')),
      config('narrow', ['x.example', 'r.example/team/'], secret('narrow')),
      config('runtime', ['r.example/t'], { runtime: { configRef: { apiVersion: 'v', kind: 'K', name: 'n' } } }),
    ];
    const found = selectSettings(configs, 'r.example/team/p:v1');
    assert.equal(found.pullSecret, 'narrow');
    assert.equal(found.runtimeConfigRef?.name, 'n');
    assert.deepEqual(found.applied, [
      { name: 'narrow', reason: 'SetImagePullSecret' },
      { name: 'runtime', reason: 'ConfigureRuntime' },
    ]);
    assert.equal(selectSettings(configs, 'other.example/p:v1').applied.length, 0);
  });

  test('ImageConfigs of equal prefixes count by the first name', () => {
    const configs = [config('a', ['r.example/'], secret('a')), config('b', ['r.example/'], secret('b'))];
    assert.equal(selectSettings(configs, 'r.example/p').pullSecret, 'a');
  });

  test('rewrite first, once, and are looked up for what came out', () => {
    const configs = [
      config('mirror', ['r.example/'], { rewriteImage: { prefix: 'm.example/r/' } }),
      config('again', ['m.example/'], { rewriteImage: { prefix: 'nowhere.example/' } }),
      config('before', ['r.example/'], secret('before')),
      config('after', ['m.example/'], secret('after')),
    ];
    const found = selectSettings(configs, 'r.example/team/p:v1');
    assert.deepEqual([found.image, found.pullSecret], ['m.example/r/team/p:v1', 'after']);
  });

  test('match without regard to segments of paths', () => {
    assert.equal(selectSettings([config('a', ['r.example/te'], secret('a'))], 'r.example/team/p').pullSecret, 'a');
  });
});

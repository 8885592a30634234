// The demonstration and the tutorial work as described.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { parse, parseAllDocuments } from 'yaml';
import type { ProxyConfiguration } from '../src/configuration/schema.ts';
import { KafkaProtocolFilter, validateConfiguration } from '../src/index.ts';
import { condition, configurationOf, get, patch, staged, writesTo } from './fixtures.ts';

const folder = new URL('../demo/', import.meta.url);

function demo(): KubeObject[] {
  return readdirSync(folder)
    .toSorted()
    .flatMap((file) =>
      parseAllDocuments(readFileSync(new URL(file, folder), 'utf8')).map((document) => document.toJS() as KubeObject),
    );
}

test('the demonstration has two virtual clusters, a filter and its Secret', () =>
  staged({ objects: demo() }, async (stage) => {
    const { client } = stage;
    const configuration = parse(await configurationOf(client)) as ProxyConfiguration;
    assert.deepEqual(validateConfiguration(configuration), []);
    assert.deepEqual(
      configuration.virtualClusters.map(({ name }) => name),
      ['metrics', 'orders'],
    );
    for (const name of ['metrics', 'orders'])
      assert.equal(condition(await get.cluster(client, name), 'ResolvedRefs')?.status, 'True');
    assert.doesNotMatch(
      JSON.stringify([await get.deployment(client), await configurationOf(client)]),
      /demonstration-only/,
    );
    stage.transport.clear();
    await patch(client, KafkaProtocolFilter, 'encryption', {
      spec: { configTemplate: { selectorConfig: { template: 'ALL' } } },
    });
    await stage.settle();
    assert.deepEqual(writesTo(stage, 'deployments'), ['PATCH deployments/my-proxy']);
  }));

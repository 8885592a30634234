import assert from 'node:assert/strict';
import { test } from 'node:test';
import kroxylicious from '@capstan/kroxylicious';
import {
  type Client,
  CustomResourceDefinition,
  type Kind,
  systemClock,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@capstan/kube';
import { createRandom, createTestCluster } from '@capstan/testing';
import { applyInstallation } from './apply.ts';
import { installationOf } from './install-options.ts';

for (const [version, isTooOld] of [
  ['v1.27.16', true],
  ['v1.9.0-gke.3', true],
  ['v1.28.0', false],
] as const) {
  test(`an API server ${version} is ${isTooOld ? 'refused before anything is applied' : 'new enough'}`, async (t) => {
    const { client, close } = await createTestCluster({ clock: systemClock, random: createRandom(1) });
    t.after(close);
    const aged: Client = {
      ...client,
      request: (request) =>
        request.path === '/version'
          ? Promise.resolve({ status: 200, headers: {}, body: { gitVersion: version } })
          : client.request(request),
    };
    const installing = applyInstallation({
      client: aged,
      clock: systemClock,
      installation: installationOf([kroxylicious], { flags: {}, operatorFlags: {} }, undefined),
      // Nothing runs pods here.
      timeoutMs: 1,
      report() {},
      signal: new AbortController().signal,
    });
    const message = isTooOld
      ? /the API server is too old: it is Kubernetes v1\.\S+, and Capstan needs 1\.28 or newer; upgrade the cluster/
      : /the operator kroxylicious did not become ready/;
    await assert.rejects(installing, message);
    const { items } = await client.list(CustomResourceDefinition);
    assert.equal(items.length > 0, !isTooOld);
  });
}

const POLICIES = ['pods', 'pods-named', 'secrets'].map((name) => `capstan-kroxylicious-${name}`);

for (const isServed of [true, false])
  test(`admission policies ${isServed ? 'are applied' : 'are left out, with a line, where the server has none'}`, async (t) => {
    const { client, close } = await createTestCluster({ clock: systemClock, random: createRandom(1) });
    t.after(close);
    const older: Client = {
      ...client,
      async request(request) {
        const answer = await client.request(request);
        return request.path === '/apis' ? { ...answer, body: withoutPolicies(answer.body) } : answer;
      },
    };
    const lines: string[] = [];
    const installing = applyInstallation({
      client: isServed ? client : older,
      clock: systemClock,
      installation: installationOf([kroxylicious], { flags: {}, operatorFlags: {} }, undefined),
      timeoutMs: 1,
      report: (line) => lines.push(line),
      signal: new AbortController().signal,
    });
    await assert.rejects(installing, /did not become ready/);
    for (const kind of [ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding] as readonly Kind[]) {
      const { items } = await client.list(kind);
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        isServed ? POLICIES : [],
      );
    }
    assert.equal(
      lines.some((line) => /has no admission policies \(Kubernetes 1\.30 has them\)/.test(line)),
      !isServed,
    );
  });

function withoutPolicies(body: unknown): unknown {
  const text = JSON.stringify(body, (_key, value: unknown) =>
    Array.isArray(value)
      ? value.filter((one: { resource?: string }) => !one.resource?.startsWith('validatingadmissionpol'))
      : value,
  );
  return JSON.parse(text);
}

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { freePorts } from '@capstan/testing';
import { SesameConfiguration } from '../../src/kinds/index.ts';
import { runCommand } from '../commands/command-io.ts';
import { inDefault, served, until } from './fixtures.ts';

describe('the command sesame serve', () => {
  test('serves by a file, and creates the resource from it once', async () => {
    await served(async ({ cluster }) => {
      const [xds = 0, health = 0, debug = 0] = await freePorts(3);
      const line =
        `serve -c f --migrate --insecure --xds-address=127.0.0.1 --xds-port=${xds} --health-address=127.0.0.1 --health-port=${health} ` +
        `--http-address=127.0.0.1 --http-port=${health} --debug-http-port=${debug} --namespace=default`;
      const stopping = new AbortController();
      const files = { f: 'debug: false\ntimeouts:\n  request-timeout: 4s\n' };
      const running = runCommand(line, files, {
        transport: () => cluster.transport(),
        signal: stopping.signal,
        env: { POD_NAME: 'pod-a' },
      });
      await until(
        async () =>
          (await fetch(`http://127.0.0.1:${health}/readyz`).catch(() => undefined))?.status === 200 ? true : undefined,
        'readiness',
      );
      const { spec, status } = await cluster.client.get(SesameConfiguration, inDefault('sesame'));
      assert.equal(spec?.envoy?.timeouts?.requestTimeout, '4s');
      // The file is in force: the resource is left alone.
      assert.equal(status, undefined);
      const shown = await (await fetch(`http://127.0.0.1:${debug}/debug/config`)).text();
      assert.match(shown, /"requestTimeout": "4s"/);
      stopping.abort();
      const { code, err } = await running;
      assert.equal(code, 0);
      assert.match(err, /--config-path is deprecated; migrate f with sesame migrate config/);
      assert.match(
        err,
        /SesameConfiguration default\/sesame: created from f; replace --config-path by --sesame-config=sesame/,
      );
    });
  });

  const wrong: [line: string, code: number, message: RegExp][] = [
    ['serve -c f --sesame-config=x', 2, /--config-path and --sesame-config cannot be given together; give one of them/],
    ['serve --migrate', 2, /needs --config-path with --migrate/],
    ['serve --xds-port=x --nope', 2, /--nope is not a flag of sesame serve; --xds-port must be a whole number \("x"\)/],
    ['serve --invalid-config-policy=hope', 2, /--invalid-config-policy cannot be "hope"; use stop or keep-last-good/],
    ['serve -c gone', 1, /the file gone cannot be read/],
    ['serve -c f', 1, /the configuration file f is not valid:\nf:1:1: error: nope: is not a known key/],
  ];
  for (const [line, code, message] of wrong)
    test(`refuses ${line}`, async () => {
      const ran = await runCommand(line, { f: 'nope: 1\n' });
      assert.equal(ran.code, code);
      assert.match(ran.err, message);
    });

  test('has every flag in its help', async () => {
    const { out } = await runCommand('serve --help');
    for (const flag of [
      'sesame-config',
      'config-path',
      'xds-port',
      'root-namespaces',
      'leader-election-lease-duration',
      'insecure',
    ])
      assert.match(out, new RegExp(`--${flag}`));
  });
});

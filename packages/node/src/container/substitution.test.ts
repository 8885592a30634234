import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '@capstan/kube';
import type { KnownImage } from '../images/image-table.ts';
import { argvOf } from './command.ts';
import { expand } from './expand.ts';
import { createSubstitute } from './substitution.ts';

const image: KnownImage = { match: 'x', entrypoint: ['/usr/bin/x', 'serve'], cmd: ['--default'] };

test('variables are filled in where they are known', () => {
  const cases: [string, string][] = [
    ['$(A)', 'one'],
    ['x$(A)$(B)y', 'xonetwoy'],
    ['$(C)', '$(C)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$one'],
    ['$A', '$A'],
    ['$(constructor)', '$(constructor)'],
  ];
  for (const [text, expected] of cases) assert.equal(expand(text, { A: 'one', B: 'two' }), expected, text);
});

function substitute(more: Partial<KnownImage> = {}) {
  const service = (namespace: string, name: string, clusterIP: string): Service => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: { clusterIP },
  });
  return createSubstitute({
    image: { ...image, ...more },
    paths: new Map([
      ['/etc/app', '/data/app'],
      ['/etc/app/tls', '/data/tls'],
    ]),
    services: [
      service('shop', 'web', '127.96.0.7'),
      service('other', 'web', '127.96.0.8'),
      service('shop', 'none', 'None'),
    ],
    namespace: 'shop',
    variables: { POD_IP: '127.64.0.9' },
  });
}

test('paths of mounts, names of services and what the table says become what they are on this machine', () => {
  const cases: [string, string][] = [
    ['/etc/app/config.yaml', '/data/app/config.yaml'],
    ['--config=/etc/app', '--config=/data/app'],
    ['/etc/app/tls/key:/etc/app/x', '/data/tls/key:/data/app/x'],
    ['/etc/application', '/etc/application'],
    ['/srv/etc/app', '/srv/etc/app'],
    ['web.shop.svc.cluster.local:8080', '127.96.0.7:8080'],
    ['http://web.other.svc/x', 'http://127.96.0.8/x'],
    ['https://web:80', 'https://127.96.0.7:80'],
    ['the web is wide', 'the web is wide'],
    ['web.shop.example', 'web.shop.example'],
    ['none.shop', 'none.shop'],
    ['0.0.0.0:80', '127.64.0.9:80'],
  ];
  const { text } = substitute({ substitute: [{ from: '0.0.0.0', to: '$(POD_IP)' }] });
  for (const [given, expected] of cases) assert.equal(text(given), expected, given);
});

test('names stay where the table says so, and files are changed only where it says so', () => {
  assert.equal(substitute({ resolveServices: false }).text('web.shop.svc'), 'web.shop.svc');
  const some = substitute({ resolveServices: /^\s*to:/, substituteInFiles: true });
  assert.equal(some.file('name: web.shop.svc\n  to: web.shop.svc\n'), 'name: web.shop.svc\n  to: 127.96.0.7\n');
  assert.equal(substitute().file('web.shop.svc /etc/app'), 'web.shop.svc /etc/app');
  assert.equal(substitute({ substituteInFiles: true }).file('web.shop.svc /etc/app'), '127.96.0.7 /data/app');
});

test('the command is the pod’s where it has one, the image’s otherwise', () => {
  const programs = { x: ['/opt/x', '--here'] };
  const argv = (container: { command?: string[]; args?: string[] }) =>
    argvOf(container, { ...image, programs, extraArgs: ['--bind=$(POD_IP)'] }, { POD_IP: 'ip', A: 'a' }, substitute());
  assert.deepEqual(argv({}), ['/usr/bin/x', 'serve', '--default', '--bind=ip']);
  assert.deepEqual(argv({ args: ['$(A)'] }), ['/usr/bin/x', 'serve', 'a', '--bind=ip']);
  assert.deepEqual(argv({ command: ['x', 'go'] }), ['/opt/x', '--here', 'go', '--bind=ip']);
  assert.deepEqual(argv({ command: ['/bin/y'], args: ['/etc/app'] }), ['/bin/y', '/data/app', '--bind=ip']);
});

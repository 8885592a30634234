import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connection } from '../kinds/index.ts';
import { protectionOf } from './protection.ts';

const connection = (cluster: string, usingCableDriver: string, isProtected?: boolean) =>
  ({
    status: 'connected',
    endpoint: { cluster_id: cluster },
    usingCableDriver,
    ...(isProtected !== undefined && { protected: isProtected }),
  }) as Connection;

test('encrypted cables without a backstop are problems, others are counted or not known', () => {
  const { unprotected, count } = protectionOf('gateway-1', [
    connection('west', 'ipsec', true),
    connection('north', 'wireguard', false),
    connection('south', 'vxlan', false),
    connection('old', 'vxlan+ipsec'),
  ]);
  assert.equal(count, 1);
  assert.deepEqual(
    unprotected.map(({ cluster }) => cluster),
    ['north'],
  );
  assert.match(
    unprotected[0]?.message ?? '',
    /packets could leave gateway gateway-1 in clear while its wireguard cable/,
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { type BrokerAddress, brokerKubeconfig } from './broker-access.ts';

const clusterOf = (more: Partial<BrokerAddress>) => {
  const text = brokerKubeconfig({ server: 'b', authority: undefined, insecure: false, user: { token: 't' }, ...more });
  return (parse(text) as { clusters: readonly { cluster: object }[] }).clusters[0]?.cluster;
};

test('the address of a broker is a URL, or a host whose scheme is https', () => {
  assert.deepEqual(clusterOf({ server: '192.0.2.1:6443' }), { server: 'https://192.0.2.1:6443' });
  assert.deepEqual(clusterOf({ server: '[2001:db8::1]:6443' }), { server: 'https://[2001:db8::1]:6443' });
  const url = 'http://127.0.0.1:8080/clusters/broker';
  assert.deepEqual(clusterOf({ server: url }), { server: url });
});

test('the authority of a broker is a file or data, and none where it is not checked', () => {
  const server = 'https://b';
  assert.deepEqual(clusterOf({ authority: { file: '/ca' } }), { server, 'certificate-authority': '/ca' });
  assert.deepEqual(clusterOf({ authority: { data: 'eA==' } }), { server, 'certificate-authority-data': 'eA==' });
  const insecure = { server, 'insecure-skip-tls-verify': true };
  assert.deepEqual(clusterOf({ authority: { data: 'eA==' }, insecure: true }), insecure);
});

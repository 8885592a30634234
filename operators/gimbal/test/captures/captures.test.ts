import { Service } from '@capstan/kube';
import { testKeptCaptures } from '@capstan/testing';
import { DiscoveryBackend } from '../../src/index.ts';
import { createGimbal } from '../../src/operator.ts';
import { backend, HTTPProxy, install, proxy, ref, service } from '../maintenance/fixtures.ts';

testKeptCaptures({
  folder: new URL('.', import.meta.url),
  operators: () => [createGimbal()],
  captures: {
    'a-drain-and-its-end': {
      async given(client) {
        await install(client, 'http-proxy');
        for (const name of ['x', 'y']) await client.create(DiscoveryBackend, backend(name));
        for (const name of ['x-a', 'y-a']) await client.create(Service, service(name));
        await client.create(HTTPProxy, proxy('r', { 'x-a': 3, 'y-a': 1 }));
      },
      async act({ client, settle }) {
        for (const clusterStatus of ['Maintenance', 'Enabled']) {
          await client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus } });
          await settle();
        }
      },
    },
  },
});

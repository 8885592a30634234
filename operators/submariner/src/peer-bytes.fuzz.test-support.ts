// Bytes of other programs and files of users: charon's packets, datagrams of other clusters, broker-info.subm, policies.
import { CodedError } from '@capstan/kube';
import type { FuzzTarget } from '@capstan/testing';
import { parseBrokerInfo } from './commands/broker-info.ts';
import { decode, encode, ViciError } from './drivers/vici.ts';
import { decodeMessage, encodeMessage } from './gateway/nat/message.ts';
import { readPolicy } from './policy/read-policy.ts';
import { readYaml } from './policy/read-yaml.ts';

const isRefusal = (error: unknown) => error instanceof CodedError || error instanceof ViciError;

const vici: FuzzTarget = {
  name: 'vici',
  seeds: [
    encode({ success: 'yes', list: ['a', 'b'], section: { key: 'value', deep: { x: 'y' } } }),
    encode({}),
    encode({ errmsg: Buffer.from([0xff]), success: 'no' }),
  ],
  tokens: [
    Buffer.from([1, 1, 97]),
    Buffer.from([2]),
    Buffer.from([3, 1, 98, 0, 1, 99]),
    Buffer.from([4, 1, 100]),
    Buffer.from([5, 0, 0]),
    Buffer.from([6]),
    Buffer.from([3, 9]),
    '\x09__proto__',
    Buffer.from([5, 0xff, 0xff]),
  ],
  read: (input) => decode(input),
  isRefusal,
};

const nat: FuzzTarget = {
  name: 'nat-message',
  seeds: [
    encodeMessage({
      type: 'request',
      number: 7n,
      sender: { clusterID: 'a', endpointID: 'b' },
      receiver: { clusterID: 'c', endpointID: 'd' },
      usingSource: { ip: '10.0.0.1', port: 4490 },
      usingDestination: { ip: '10.0.0.2', port: 4490 },
    }),
    encodeMessage({
      type: 'response',
      number: 2n ** 63n,
      result: 'NAT_DETECTED',
      sender: { clusterID: 'a', endpointID: 'b' },
      receiver: undefined,
      isSourceTranslated: true,
      isSourcePortTranslated: false,
      isDestinationTranslated: true,
      receivedSource: { ip: '::1', port: 65535 },
    }),
  ],
  tokens: [
    Buffer.from([0x12, 0x00]),
    Buffer.from([0x1a, 0x02, 0x10, 0x63]),
    Buffer.from([0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
    Buffer.from([0x0b]),
    Buffer.from([0x12, 0xff, 0x01]),
  ],
  maxBytes: 65_507,
  read: (input) => decodeMessage(input),
  isRefusal,
};

const brokerInfo: FuzzTarget = {
  name: 'broker-info',
  seeds: [
    Buffer.from(
      JSON.stringify({
        brokerURL: 'https://b:6443',
        ClientToken: { data: { token: 'dA==', namespace: 'bg==', 'ca.crt': 'Yw==' } },
        IPSecPSK: { data: { psk: 'cA==' } },
        Components: ['connectivity'],
      }),
    ).toString('base64url'),
    'e30',
    '!!',
  ],
  tokens: ['eyJ', '==', '\n', 'bnVsbA', '-_'],
  read: (input) => parseBrokerInfo(input.toString(), 'broker-info.subm'),
  isRefusal,
};

const policies: FuzzTarget = {
  name: 'cable-policy-file',
  seeds: [
    'apiVersion: submariner.io/v1alpha1\nkind: CablePolicies\nmetadata: { name: default }\nspec:\n  rules:\n  - left: { env: production }\n    right: { env: !production }\n    cableDriver: { name: wireguard, options: { port: 4500 } }\n',
    'kind: ConfigMap\nmetadata: {name: c}\ndata: {vxlanID: 5}\n---\nkind: CablePolicies\nspec: []\n',
    'a: !b c\n',
    '- 1\n',
  ],
  tokens: [
    '!x',
    '!%ff ',
    '!!str ',
    '&a ',
    '*a',
    '---\n',
    ': ',
    '- ',
    '{',
    '}',
    'spec: null\n',
    'metadata: []\n',
    '__proto__: ',
    '!',
    '"',
    '&a [*a,*a]',
  ],
  maxBytes: 64 * 1024,
  maxMs: 3_000,
  read(input) {
    const { objects } = readYaml(input.toString(), 'policies.yaml');
    for (const object of objects) {
      // Other fields have been checked against the schema of the kind.
      const { spec } = object;
      readPolicy({ metadata: { name: 'a' }, ...(typeof spec === 'object' && { spec }) });
    }
  },
  isRefusal,
};

export const targets: readonly FuzzTarget[] = [vici, nat, brokerInfo, policies];

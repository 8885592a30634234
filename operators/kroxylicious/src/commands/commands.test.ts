import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { settingsFromFlags } from './flags.ts';
import { programArguments } from './program.ts';

describe('flags of the operator', () => {
  test('become settings', () => {
    assert.deepEqual(settingsFromFlags({}), {});
    assert.deepEqual(settingsFromFlags({ image: 'x:1', 'quiet-period': '1.5s', 'cluster-domain': 'k8s.example' }), {
      image: 'x:1',
      quietMs: 1500,
      clusterDomain: 'k8s.example',
    });
  });

  test('that cannot be used are told with a remedy, those that do not exist without', () => {
    for (const [flag, value, remedy] of [
      ['image', '', /name of an image/],
      ['quiet-period', 'soon', /duration/],
      ['quiet-period', '-1s', /duration/],
      ['cluster-domain', 'a_b', /DNS name/],
    ] as const) {
      const found = settingsFromFlags({ [flag]: value });
      assert.ok('fault' in found && found.fault.flag === flag);
      assert.match(found.fault.remedy ?? '', remedy);
    }
    assert.deepEqual(settingsFromFlags({ imag: 'x' }), { fault: { flag: 'imag', remedy: undefined } });
  });
});

describe('the program kroxylicious', () => {
  const cases: [string[], string[]][] = [
    [['operator'], ['run', '--operators', 'kroxylicious']],
    [
      ['operator', '--image=x:1', '--quiet-period', '0s', '--install-crds'],
      [
        'run',
        '--operators',
        'kroxylicious',
        '--kroxylicious.image=x:1',
        '--kroxylicious.quiet-period=0s',
        '--install-crds',
      ],
    ],
    [
      ['why', 'deployment/my-proxy'],
      ['why', 'deployment/my-proxy'],
    ],
    [['--help'], ['--help']],
    [[], []],
  ];
  for (const [given, becomes] of cases)
    test(given.join(' ') || 'without arguments', () => assert.deepEqual(programArguments(given), becomes));
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { linkedText, namedPlaces } from './linked-text.ts';

const secret = { world: '', kind: 'Secret', key: 'default/vault-token' };
const proxy = { world: '', kind: 'KafkaProxy.kroxylicious.io', key: 'default/my-proxy' };

describe('a sentence with names', () => {
  it('links the objects that are known, also at its end', () => {
    const known = namedPlaces([secret, proxy]);
    assert.deepEqual(linkedText('KafkaProxy default/my-proxy waits for Secret default/vault-token.', known), [
      { text: 'KafkaProxy default/my-proxy', place: proxy },
      ' waits for ',
      { text: 'Secret default/vault-token', place: secret },
      '.',
    ]);
  });

  it('stays text where no object is known, or another one with a longer name', () => {
    const known = namedPlaces([{ ...secret, key: 'default/vault' }]);
    for (const text of ['', 'Secret default/vault-token is absent.', '<img src=x onerror=alert(1)> Secret'])
      assert.ok(
        linkedText(text, known).every((part) => typeof part === 'string'),
        text,
      );
  });
});

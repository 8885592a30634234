import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { paletteChoices } from './palette-choices.ts';

const object = (kind: string, key: string, state = 'ready') => ({ world: '', kind, key, state, reason: '' });
const nothing = { objects: [], absent: [] };

describe('the palette', () => {
  it('lists all pages while nothing is typed', () => {
    const choices = paletteChoices('', nothing, []);
    assert.ok(choices.every(({ group }) => group === 'Go to'));
    assert.ok(choices.some(({ link }) => link === '/kafka'));
  });

  it('asks about the object whose name has the word, before objects that only mention it', () => {
    const found = {
      objects: [object('KafkaProtocolFilter.kroxylicious.io', 'default/encryption', 'broken')],
      absent: [object('Secret', 'default/vault-token')],
    };
    const choices = paletteChoices('vault', found, []);
    assert.deepEqual(
      choices.map(({ group, text }) => `${group}: ${text}`),
      [
        'Objects: Secret default/vault-token',
        'Objects: KafkaProtocolFilter default/encryption',
        'Ask: Why is Secret vault-token as it is?',
        'Ask: What reads Secret vault-token?',
        'Ask: What would deleting Secret vault-token do?',
        'Go to: All objects that match vault',
      ],
    );
    assert.equal(choices[0]?.state, 'absent');
  });

  it('offers no plan of an object of another cluster', () => {
    const found = { objects: [{ ...object('Service', 'default/shop'), world: 'east' }], absent: [] };
    const asked = paletteChoices('shop', found, []).filter(({ group }) => group === 'Ask');
    assert.deepEqual(
      asked.map(({ text }) => text),
      ['Why is Service shop as it is?'],
    );
  });

  it('opens reports by their title, and asks nothing about a filter', () => {
    const reports = [{ name: 'ingress/default/edge', title: 'Ingress edge' }];
    assert.ok(paletteChoices('edge', nothing, reports).some(({ link }) => link === '/ingress/default/edge'));
    const choices = paletteChoices('is:unready', { ...nothing, objects: [object('Secret', 'a/b')] }, []);
    assert.ok(!choices.some(({ group }) => group === 'Ask'));
  });
});

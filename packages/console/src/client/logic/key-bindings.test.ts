import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createKeyBindings, type PressedKey } from './key-bindings.ts';

const pressed = (key: string, more: Partial<PressedKey> = {}): PressedKey => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  isTyping: false,
  at: 0,
  ...more,
});

describe('key bindings', () => {
  it('g and a letter open a page, within a second and a half', () => {
    const keys = createKeyBindings(() => true);
    assert.equal(keys.press(pressed('g')), undefined);
    assert.deepEqual(keys.press(pressed('k', { at: 900 })), { go: '/kafka' });
    keys.press(pressed('g', { at: 1000 }));
    assert.equal(keys.press(pressed('k', { at: 4000 })), 'previous');
  });

  it('single keys are off while the user types, the palette is not', () => {
    const keys = createKeyBindings(() => true);
    assert.equal(keys.press(pressed('j', { isTyping: true })), undefined);
    assert.equal(keys.press(pressed('k', { isTyping: true, ctrlKey: true })), 'palette');
    assert.equal(keys.press(pressed('Escape', { isTyping: true })), 'back');
  });

  it('single keys can be turned off', () => {
    const keys = createKeyBindings(() => false);
    assert.equal(keys.press(pressed('j')), undefined);
    assert.equal(keys.press(pressed('K', { metaKey: true })), 'palette');
  });
});

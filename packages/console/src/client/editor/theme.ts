import type { TagStyle } from '@codemirror/language';
import { tags } from '@lezer/highlight';

/** The look of the editor, from the colours of the page. */
export const THEME: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '&': { minHeight: '46vh', backgroundColor: 'transparent', color: 'var(--text)', fontSize: '12px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '19px', minHeight: '46vh' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--faint)', border: '0', paddingLeft: '6px' },
  '.cm-activeLine': { backgroundColor: 'var(--sunken)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused .cm-selectionBackground, ::selection': { backgroundColor: 'var(--accent-ground)' },
  '.cm-tooltip': {
    maxWidth: '440px',
    border: '1px solid var(--strong)',
    borderRadius: '7px',
    backgroundColor: 'var(--panel)',
    color: 'var(--text)',
    fontFamily: 'var(--ui)',
    fontSize: '12px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '15em' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-ground)',
    color: 'var(--text)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600', color: 'var(--accent)' },
  '.cm-completionDetail': { color: 'var(--soft)', fontStyle: 'normal', fontFamily: 'var(--ui)' },
  '.cm-tooltip.cm-completionInfo': { padding: '6px 10px', maxWidth: '320px' },
  '.cm-explain': { padding: '6px 10px' },
  '.cm-explain p': { margin: '2px 0 0', color: 'var(--soft)' },
  '.cm-type': { marginLeft: '8px', color: 'var(--soft)' },
  '.cm-diagnostic': { padding: '5px 10px' },
  '.cm-diagnostic-error': { borderLeft: '4px solid var(--bad)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lint-marker-error': { content: 'none', width: '8px', height: '8px', background: 'var(--bad)' },
};

export const HIGHLIGHTS: readonly TagStyle[] = [
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--yaml-key)' },
  { tag: [tags.string, tags.content, tags.attributeValue], color: 'var(--yaml-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--yaml-number)' },
  { tag: [tags.comment, tags.punctuation, tags.separator, tags.meta], color: 'var(--faint)' },
];

// The editor of manifests. It loads when a page with an editor opens. It lives in a shadow tree: there CodeMirror takes its styles from
// style sheet objects, which the content security policy allows without a nonce.
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter, lintKeymap, nextDiagnostic } from '@codemirror/lint';
import { EditorState, type Text } from '@codemirror/state';
import { EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from '@codemirror/view';
import { problemsBySchema, type Schema, schemaAt, suggestionsAt, typeText } from '../manifests/schema-help.ts';
import { type OutlineDocument, outlineOf } from '../manifests/yaml-outline.ts';
import { HIGHLIGHTS, THEME } from './theme.ts';

export interface EditorOptions {
  readonly text: string;
  readonly label: string;
  onChange(text: string): void;
  /** Plans without waiting. */
  onSave(): void;
  /** The schema of a kind, `KIND.GROUP`; undefined where the cluster has none. */
  schemaOf(kind: string): Promise<Schema | undefined>;
}

export interface Editor {
  setText(text: string): void;
  focus(): void;
  close(): void;
}

export function openEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({ doc: options.text, extensions: extensionsOf(options) }),
  });
  return {
    setText(text) {
      if (text !== view.state.doc.toString())
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}

function extensionsOf(options: EditorOptions) {
  const save = () => {
    options.onSave();
    return true;
  };
  return [
    lineNumbers(),
    history(),
    yaml(),
    indentUnit.of('  '),
    closeBrackets(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    EditorView.theme(THEME),
    syntaxHighlighting(HighlightStyle.define(HIGHLIGHTS)),
    EditorView.contentAttributes.of({ 'aria-label': options.label }),
    lintGutter(),
    linter((view) => lint(view.state.doc, options), { delay: 150 }),
    autocompletion({ override: [(context) => complete(context, options)], icons: false }),
    hoverTooltip((view, position) => explain(view.state.doc, position, options)),
    // Tab is left to the browser, so that the keyboard can leave the editor.
    keymap.of([
      { key: 'Mod-s', run: save, preventDefault: true },
      { key: 'Mod-]', run: indentMore },
      { key: 'Mod-[', run: indentLess },
      { key: 'Alt-ArrowDown', run: nextDiagnostic },
      ...completionKeymap,
      ...lintKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) options.onChange(state.doc.toString());
    }),
  ];
}

/** `KIND.GROUP`, or `KIND` for the core group; undefined while it is not complete. */
function kindOf({ apiVersion, kind }: OutlineDocument): string | undefined {
  if (apiVersion === '' || kind === '') return undefined;
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? kind : `${kind}.${apiVersion.slice(0, slash)}`;
}

async function schemaFor(document: OutlineDocument | undefined, { schemaOf }: EditorOptions) {
  const kind = document && kindOf(document);
  return kind === undefined ? undefined : schemaOf(kind);
}

function documentAt(text: string, position: number): OutlineDocument | undefined {
  return outlineOf(text).find(({ from, to }) => position >= from && position <= to);
}

async function lint(doc: Text, options: EditorOptions): Promise<Diagnostic[]> {
  const documents = outlineOf(doc.toString());
  const found = await Promise.all(
    documents.map(async (document) => {
      const schema = await schemaFor(document, options);
      return schema === undefined ? [] : problemsBySchema(schema, document);
    }),
  );
  return found.flat().map(({ from, to, message }) => ({
    from: Math.min(from, doc.length),
    to: Math.min(Math.max(to, from), doc.length),
    message,
    severity: 'error',
  }));
}

async function complete(context: CompletionContext, options: EditorOptions): Promise<CompletionResult | null> {
  const { state, pos, explicit } = context;
  const line = state.doc.lineAt(pos);
  if (!explicit && line.text.slice(0, pos - line.from).trim() === '') return null;
  const document = documentAt(state.doc.toString(), pos);
  const schema = await schemaFor(document, options);
  if (document === undefined || schema === undefined || context.aborted) return null;
  const found = suggestionsAt(schema, document, { from: line.from, text: line.text, cursor: pos - line.from });
  if (found === undefined || found.suggestions.length === 0) return null;
  return {
    from: line.from + found.from,
    options: found.suggestions.map(({ label, detail, info, apply }) => ({
      label,
      detail,
      apply,
      ...(info !== '' && { info }),
    })),
    validFor: /^[\w./-]*$/,
  };
}

async function explain(doc: Text, position: number, options: EditorOptions) {
  const document = documentAt(doc.toString(), position);
  const line = document?.lines.find(({ keyFrom, keyTo }) => position >= keyFrom && position <= keyTo);
  const schema = await schemaFor(document, options);
  const own = line && schemaAt(schema, line.path);
  const parent = line && schemaAt(schema, line.path.slice(0, -1));
  if (line === undefined || own === undefined) return null;
  return {
    pos: line.keyFrom,
    end: line.keyTo,
    create() {
      const dom = elementOf('div', 'cm-explain');
      dom.append(
        elementOf('b', '', line.path.join('.')),
        elementOf('span', 'cm-type', typeText(own, parent?.required?.includes(line.key ?? '') ?? false)),
        elementOf('p', '', own.description ?? 'The schema has no description of this field.'),
      );
      return { dom };
    },
  };
}

function elementOf(tag: string, name: string, text = ''): HTMLElement {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { SchemaAnswer } from '../../api-types.ts';
import type { Editor } from '../editor/editor.ts';
import type { Schema } from '../manifests/schema-help.ts';
import { get } from '../state/api.ts';

interface ManifestEditorProps {
  readonly text: string;
  readonly label: string;
  /** Counts the texts that the page puts into the editor: typed text comes back late, and would overwrite newer keys. */
  readonly revision?: number;
  readonly onChange: (text: string) => void;
  readonly onSave: () => void;
}

/** The editor with completion and checks; a plain field until its chunk has loaded, and where it cannot load. */
export function ManifestEditor({ text, label, revision = 0, onChange, onSave }: ManifestEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  const isLoaded = useSignal(false);
  const latest = useRef({ text, onChange, onSave });
  latest.current = { text, onChange, onSave };
  useEffect(() => {
    let isGone = false;
    import('../editor/editor.ts').then(
      ({ openEditor }) => {
        if (isGone || host.current === null) return;
        const hadFocus = document.activeElement?.matches('.editor-loading') ?? false;
        editor.current = openEditor(host.current, {
          text: latest.current.text,
          label,
          onChange: (changed) => latest.current.onChange(changed),
          onSave: () => latest.current.onSave(),
          schemaOf,
        });
        isLoaded.value = true;
        if (hadFocus) editor.current.focus();
      },
      () => undefined,
    );
    return () => {
      isGone = true;
      editor.current?.close();
    };
  }, []);
  useEffect(() => editor.current?.setText(latest.current.text), [revision]);
  return (
    <>
      <div class="editor" ref={host} hidden={!isLoaded.value} />
      {!isLoaded.value && (
        <textarea
          class="editor-loading"
          aria-label={label}
          spellcheck={false}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </>
  );
}

const schemas = new Map<string, Promise<Schema | undefined>>();

/** A kind without a schema is asked for once; after a failed request the next one asks again. */
function schemaOf(kind: string): Promise<Schema | undefined> {
  const known = schemas.get(kind);
  if (known !== undefined) return known;
  const asked = get<SchemaAnswer>(`/api/schema/${encodeURIComponent(kind)}`).then(
    ({ schema }) => schema as Schema,
    (error: unknown) => {
      if ((error as { status?: number }).status !== 404) schemas.delete(kind);
      return undefined;
    },
  );
  schemas.set(kind, asked);
  return asked;
}

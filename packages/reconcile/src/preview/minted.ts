// Content that minters make for a preview alone: gates that wait for a key or a certificate open there too. It is never written or
// shown, and another is made when the object is really written.
import { type Clock, type KubeObject, keyOf, kindId } from '@capstan/kube/cluster';
import type { ChildWrite } from '../diff/index.ts';
import { plainDigest } from '../digest.ts';
import { PREVIEWED_ANNOTATION } from '../marks.ts';
import { within } from '../within.ts';

type MintWrite = Extract<ChildWrite, { verb: 'mint' }>;

export interface Mints {
  /** The object that the write would create, without content if there is none yet. */
  objectOf(write: MintWrite, existing: KubeObject | undefined): KubeObject;
  hasContentOf(write: MintWrite): boolean;
  /** Creates the content that is needed so far and missing; false when no content could be created. */
  make(): Promise<boolean>;
}

const MAKE_MS = 60_000;

/** Without options nothing is made. */
export function createMints(options?: { readonly clock: Clock; readonly signal: AbortSignal }): Mints {
  const made = new Map<string, KubeObject | undefined>();
  const asked = new Map<string, { write: MintWrite; existing: KubeObject | undefined }>();
  const idOf = ({ kind, ref, inputs }: MintWrite) => `${kindId(kind)} ${keyOf(ref)} ${plainDigest(inputs)}`;
  return {
    objectOf(write, existing) {
      const { kind, ref, marks, inputs } = write;
      const content = made.get(idOf(write));
      if (!made.has(idOf(write))) asked.set(idOf(write), { write, existing });
      // The mark stands for the verdict of the minter, which may not accept its content for a preview.
      const annotations = { ...marks.annotations, [PREVIEWED_ANNOTATION]: plainDigest(inputs) };
      const labels = { ...content?.metadata.labels, ...marks.labels };
      return {
        ...content,
        apiVersion: kind.apiVersion,
        kind: kind.kind,
        metadata: { ...marks, ...ref, labels, annotations: { ...content?.metadata.annotations, ...annotations } },
      };
    },
    hasContentOf: (write) => made.get(idOf(write)) !== undefined,
    async make() {
      const wanted = options === undefined ? [] : [...asked].filter(([, { write }]) => write.minter.readOnly === true);
      asked.clear();
      for (const [id, { write, existing }] of wanted)
        made.set(id, options && (await contentFor(write, existing, options)));
      return wanted.length > 0;
    },
  };
}

/** Undefined if the minter fails: the effects are not known then, and the error may hold secrets. */
async function contentFor(
  { minter, inputs }: MintWrite,
  existing: KubeObject | undefined,
  { clock, signal: outer }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<KubeObject | undefined> {
  try {
    const make = async (signal: AbortSignal) => minter.make(inputs as never, existing, { clock, signal });
    const content: unknown = await within(clock, minter.timeoutMs ?? MAKE_MS, outer, make);
    return typeof (content as KubeObject | undefined)?.metadata === 'object' ? (content as KubeObject) : undefined;
  } catch (error) {
    if (outer.aborted) throw error;
    return undefined;
  }
}

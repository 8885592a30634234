// The settings of ImageConfigs for an image. For each purpose by itself the longest matching prefix counts; among equals, the first by
// name. Rewriting comes first; everything else is looked up for the rewritten reference. Rewrites are not chained.
import type { Reader } from '@capstan/reconcile';
import { ImageConfig, type ImageConfigReason } from '../kinds/index.ts';

export interface ImageSettings {
  /** The reference to pull, after rewriting. */
  readonly image: string;
  /** A Secret in the system namespace. */
  readonly pullSecret: string | undefined;
  readonly verification: NonNullable<ImageConfig['spec']['verification']> | undefined;
  readonly runtimeConfigRef: { readonly apiVersion: string; readonly kind: string; readonly name: string } | undefined;
  /** Who had a say, for the status. */
  readonly applied: readonly { readonly name: string; readonly reason: ImageConfigReason }[];
}

/** The settings for a reference that names its registry. */
export function imageSettings(read: Reader, image: string): ImageSettings {
  return selectSettings(read.list(ImageConfig, {}, configOf), image);
}

interface Config {
  readonly name: string;
  readonly spec: ImageConfig['spec'];
}

const configOf = ({ metadata, spec }: ImageConfig): Config => ({ name: metadata.name ?? '', spec });

export function selectSettings(configs: readonly Config[], original: string): ImageSettings {
  const rewrite = longest(configs, original, (spec) => spec.rewriteImage);
  const image = rewrite === undefined ? original : `${rewrite.value.prefix}${original.slice(rewrite.prefix.length)}`;
  const secret = longest(configs, image, (spec) => spec.registry?.authentication?.pullSecretRef);
  const verification = longest(configs, image, (spec) => spec.verification);
  const runtime = longest(configs, image, (spec) => spec.runtime?.configRef);
  const applied: (readonly [ImageConfigReason, { readonly name: string } | undefined])[] = [
    ['RewriteImage', rewrite],
    ['SetImagePullSecret', secret],
    ['VerifyImage', verification],
    ['ConfigureRuntime', runtime],
  ];
  return {
    image,
    pullSecret: secret?.value.name,
    verification: verification?.value,
    runtimeConfigRef: runtime?.value,
    applied: applied.flatMap(([reason, found]) => (found === undefined ? [] : [{ name: found.name, reason }])),
  };
}

function longest<V>(
  configs: readonly Config[],
  image: string,
  wanted: (spec: Config['spec']) => V | undefined,
): { name: string; prefix: string; value: V } | undefined {
  let best: { name: string; prefix: string; value: V } | undefined;
  for (const { name, spec } of configs) {
    const value = wanted(spec);
    if (value === undefined) continue;
    for (const { prefix } of spec.matchImages)
      if (image.startsWith(prefix) && prefix.length > (best?.prefix.length ?? 0)) best = { name, prefix, value };
  }
  return best;
}

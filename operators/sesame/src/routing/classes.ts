// Which objects are ours: by their class, in an annotation or in the spec.

export interface ClassSource {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec?: { readonly ingressClassName?: string | undefined } | undefined;
}

const ANNOTATIONS = [
  'projectsesame.io/ingress.class',
  'projectcontour.io/ingress.class',
  'kubernetes.io/ingress.class',
];
const DEFAULT_CLASS = 'sesame';

/** Without a configured class: objects without one, or of the class `sesame`. */
export function isServed({ metadata, spec }: ClassSource, configured: string | undefined): boolean {
  const annotation = ANNOTATIONS.find((name) => metadata.annotations?.[name] !== undefined);
  const found = annotation === undefined ? (spec?.ingressClassName ?? '') : (metadata.annotations?.[annotation] ?? '');
  const classes = (configured ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  return classes.length === 0 ? found === '' || found === DEFAULT_CLASS : classes.includes(found);
}
